import { describe, expect, test } from 'vitest'
import { migrationFile, migrationFiles } from '../../../shared/db/migration-files.ts'

const mark = '-- taskq: non-transactional\n'
const read = (sql: string) => migrationFile('0042_more.sql', sql)

test('every migration of the product is read, in the order of its numbers', () => {
  const files = migrationFiles()
  expect(files.map(({ version }) => version)).toEqual(files.map((_, index) => index + 1))
  expect(files[0]).toMatchObject({ file: '0001_jobs.sql', name: 'jobs', isTransactional: true, indexes: [] })
})

describe('the mark of a file outside a transaction', () => {
  test.each([
    ['select 1', true],
    [`${mark}select 1`, false],
    [`-- Why.\n${mark}-- And how.\nselect 1`, false],
  ])('stands among its first lines: %j', (sql, isTransactional) => {
    expect(read(sql).isTransactional).toBe(isTransactional)
  })

  test.each([`select 1;\n${mark}`, `\n${mark}select 1`, '-- taskq: nontransactional\n', '--taskq:  what?\n'])(
    'is refused in another place or with another word: %j',
    sql => {
      expect(() => read(sql)).toThrow(/^0042_more\.sql: "taskq: .*non-transactional/)
    },
  )
})

describe('a file outside a transaction', () => {
  test('is asked which indexes it builds', () => {
    const sql = `${mark}create index concurrently if not exists one on {schema}.jobs (id);
      CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS two_2 on {schema}.jobs (id); select 1`
    expect(read(sql).indexes).toEqual(['one', 'two_2'])
  })

  test.each([
    'create index one on t (a)',
    'create index concurrently one on t (a)',
    'create unique index concurrently if not exists on t (a)',
  ])('must be able to run again: %s', sql => {
    expect(() => read(`${mark}select 1;\n${sql}`)).toThrow(/^0042_more\.sql:3: write "create index/)
    expect(read(sql).indexes).toEqual([])
  })
})

test('a file is named by its number', () => {
  expect(() => migrationFile('42_more.sql', '')).toThrow('is not named NNNN_name.sql')
})
