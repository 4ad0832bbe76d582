import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pathsOf, projectRoot, readSource, type SourceFile } from './tree.ts'

/**
 * What was released, as `sha256sum migrations/*.sql` prints it. A release adds its files' lines; a line never
 * changes and never goes, since databases in which the file was applied refuse any other.
 */
const list = readFileSync(join(import.meta.dirname, 'released-migrations.txt'), 'utf8')

/** The released files that are missing or differ, and the others whose numbers are below theirs. */
function broken(released: string, files: readonly SourceFile[]): string[] {
  const lines = released.trimEnd().split('\n')
  const paths = lines.map(line => line.slice(66))
  const newest = paths.toSorted().at(-1) ?? ''
  const between = files.filter(({ path }) => path < newest && !paths.includes(path))
  return [
    ...lines.filter(line => !files.some(file => `${sha256(file.text)}  ${file.path}` === line)),
    ...between.map(({ path }) => `${path} is not released, and its number is below a released one`),
  ]
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

test('no released migration has changed, gone, or got a predecessor', () => {
  const migrations = pathsOf(projectRoot).filter(path => /^migrations\/.*\.sql$/.test(path))
  expect(list).toMatch(/^([0-9a-f]{64} {2}migrations\/\d{4}_\w+\.sql\n)+$/)
  expect(
    broken(
      list,
      migrations.map(path => readSource(projectRoot, path)),
    ),
  ).toEqual([])
})

test('a planted change, loss or predecessor is found, and a new file is none', () => {
  const file = (number: number, text = 'select 1;\n') => ({ path: `migrations/000${number}_a.sql`, text })
  const line = (number: number) => `${sha256('select 1;\n')}  migrations/000${number}_a.sql`
  const released = `${line(1)}\n${line(3)}\n`
  expect(broken(released, [file(1), file(3), file(4)])).toEqual([])
  expect(broken(released, [file(1), file(3, 'select 1; \n')])).toEqual([line(3)])
  expect(broken(released, [file(1)])).toEqual([line(3)])
  expect(broken(released, [file(1), file(2), file(3)])).toEqual([
    expect.stringContaining('0002_a.sql is not'),
  ])
})
