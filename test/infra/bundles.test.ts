import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundledFunctions, openBundles } from '../../infra/bundle-folders.ts'
import { type Bundle, buildBundles } from '../../infra/bundles.ts'
import { scheduled } from '../../shared/sweeps/index.ts'

const purposes = scheduled.map(({ purpose }) => purpose)
/** What a cold start may read; what fires schedules brings a calendar with it. */
const coldBytesMax = (name: string) => (name === 'cron' ? 260_000 : 210_000)
const folder = mkdtempSync(join(tmpdir(), 'taskq-bundles-'))
afterAll(() => rmSync(folder, { recursive: true }))

let bundles: readonly Bundle[] = []
beforeAll(async () => {
  bundles = await buildBundles(folder)
})

/** Every file below a folder with the hash of its bytes: a difference of bundles is no text to be shown. */
function hashesIn(root: string): Record<string, string> {
  return Object.fromEntries(
    filesIn(root).map(([path, text]) => [path, createHash('sha256').update(text).digest('hex')]),
  )
}

function filesIn(root: string): [path: string, text: string][] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name)).sort()
  return paths.map(path => [path.slice(root.length + 1), readFileSync(path, 'utf8')])
}

/** The files of one function's bundle that hold a text. */
const holding = (name: string, text: string) =>
  filesIn(join(folder, name)).flatMap(([file, content]) => (content.includes(text) ? [file] : []))

describe('a bundle', () => {
  test('is one folder a function, with its entry', () => {
    expect(readdirSync(folder).sort()).toEqual([...bundledFunctions].sort())
    for (const name of bundledFunctions) expect(readdirSync(join(folder, name))).toContain('index.mjs')
  })

  // Migrate grows with every migration, and starts only when somebody deploys.
  test.each(purposes)('of %s loads few bytes when it starts', name => {
    const bundle = bundles.find(each => each.name === name)
    expect(bundle?.coldBytes).toBeGreaterThan(100_000)
    expect(bundle?.coldBytes).toBeLessThanOrEqual(coldBytesMax(name))
  })

  test.each([...purposes, 'migrate'])(
    'of %s has the client of Secrets Manager in a chunk that is loaded late',
    name => {
      expect(holding(name, 'secretsmanager')).not.toEqual([])
      expect(holding(name, 'secretsmanager')).not.toContain('index.mjs')
    },
  )

  test('of smoke has the client of Lambda in such a chunk, and no driver and no other client', () => {
    expect(holding('smoke', '/2015-03-31/functions/')).toHaveLength(1)
    expect(holding('smoke', '/2015-03-31/functions/')).not.toContain('index.mjs')
    expect(holding('smoke', 'secretsmanager')).toEqual([])
    expect(holding('smoke', 'pg_stat_activity').concat(holding('smoke', 'SASL'))).toEqual([])
  })

  test.each(Object.values(openBundles))(
    'of %s is one file, whose one open import is the user’s module',
    name => {
      expect(readdirSync(join(folder, name))).toEqual(['index.mjs'])
      const open = bundledFunctions.filter(name => holding(name, 'from"taskq-definitions"').length > 0)
      expect(open.sort()).toEqual(Object.values(openBundles).sort())
    },
  )

  test.each(purposes)('of %s does not load TLS or files when it starts', purpose => {
    // As modules these two bring half of Node with them: 15 ms of the 40 that a cold start may take.
    const eager = holding(purpose, 'from"node:tls"').concat(holding(purpose, 'from"node:fs"'))
    expect(holding(purpose, 'import("node:tls")')).toEqual(['index.mjs'])
    expect(eager).not.toContain('index.mjs')
  })

  test('carries the migrations only where it migrates', () => {
    expect(bundledFunctions.filter(name => holding(name, 'create table {schema}.jobs').length > 0)).toEqual([
      'migrate',
    ])
  })

  test('names neither this machine nor a folder of it', () => {
    const project = fileURLToPath(new URL('../..', import.meta.url))
    for (const [file, text] of Object.entries(filesIn(folder)))
      expect(text.includes(project), file).toBe(false)
  })
})

describe('a build', () => {
  test('comes to the same bytes in another folder', async () => {
    const other = mkdtempSync(join(tmpdir(), 'taskq-bundles-'))
    try {
      await buildBundles(other)
      expect(hashesIn(other)).toEqual(hashesIn(folder))
    } finally {
      rmSync(other, { recursive: true })
    }
  })

  test('mends a folder that holds something else', async () => {
    const before = hashesIn(folder)
    writeFileSync(join(folder, 'promotion/index.mjs'), 'export {}')
    writeFileSync(join(folder, 'promotion/chunk-OLD.mjs'), 'export {}')
    await buildBundles(folder)
    expect(hashesIn(folder)).toEqual(before)
  })
})
