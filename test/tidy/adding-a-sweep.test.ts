import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pathsOf, projectRoot } from './tree.ts'

/*
 * Goal: a sweep costs three files: its definition, the test of its rows and, for a new index, a migration.
 * Whatever else names it is generated, or follows from the list of sweeps.
 * Method: write the three into a copy of this tree, generate, and let the copy's own checks judge.
 */

const byHand = {
  'shared/sweeps/forgotten_jobs.ts': 'definition.txt',
  'test/integration/sweeps/forgotten_jobs.test.ts': 'rows.txt',
  'migrations/9999_forgotten_jobs.sql': 'migration.txt',
}

const root = mkdtempSync(join(tmpdir(), 'taskq-adding-'))

function run(command: string, ...words: readonly string[]): string {
  const environment = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'))
  const env = { ...Object.fromEntries(environment), NO_COLOR: '1' }
  const { status, stdout, stderr } = spawnSync(command, words, { cwd: root, encoding: 'utf8', env })
  expect(status, `${[command, ...words].join(' ')}\n${stdout}\n${stderr}`).toBe(0)
  return stdout
}

/** The files of the copy that are new or changed since it was made. */
function changedFiles(): string[] {
  const edited = run('git', 'diff', '--name-only')
  const added = run('git', 'ls-files', '--others', '--exclude-standard')
  return `${edited}${added}`.trim().split('\n').sort()
}

const lineCount = (path: string) => readFileSync(join(root, path), 'utf8').trimEnd().split('\n').length

beforeAll(() => {
  for (const path of pathsOf(projectRoot)) cpSync(join(projectRoot, path), join(root, path))
  symlinkSync(join(projectRoot, 'node_modules'), join(root, 'node_modules'))
  run('git', 'init', '--quiet')
  run('git', 'add', '--all')
  for (const [path, source] of Object.entries(byHand)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), readFileSync(new URL(`adding-a-sweep/${source}`, import.meta.url)))
  }
  run('npm', 'run', 'gen')
})
afterAll(() => rmSync(root, { recursive: true }))

test('a new sweep changes three files by hand and what is derived from it, nothing else', () => {
  const schema = 'test/integration/schema.txt'
  const derived = ['shared/sweeps/index.ts', 'functions/forgotten_jobs.ts', 'docs/functions.md', schema]
  expect(changedFiles()).toEqual([...Object.keys(byHand), ...derived].sort())
  const lines = Object.keys(byHand).map(path => `${lineCount(path)} in ${path}`)
  process.stdout.write(`A new sweep by hand, in lines: ${lines.join(', ')}\n`)
})

test('the new sweep satisfies the compiler, the linter and the rooms', () => {
  run('npm', 'run', 'check:types')
  run('npm', 'run', 'check:rooms')
  run('npx', 'biome', 'ci', ...Object.keys(byHand), 'functions/forgotten_jobs.ts', 'shared/sweeps/index.ts')
})

test('the new sweep is generated once and for all', () => {
  run('npx', 'vitest', 'run', '--project', 'tidy', 'test/tidy/generated.test.ts')
})

test('the new sweep keeps the laws of moves and plans, and its statements fit the schema', () => {
  const laws = ['sweeps/forgotten_jobs', 'statements', '--testNamePattern', 'moves|plans|forgotten-jobs']
  run('npx', 'vitest', 'run', '--project', 'integration', ...laws)
})
