import { describe, expect, test } from 'vitest'
import { readFolder } from '../../../shared/db/migration-files.ts'
import { splitStatements } from '../../../shared/db/split-statements.ts'

const texts = (sql: string) => splitStatements(sql).map(({ text }) => text)

describe('a semicolon ends a statement', () => {
  test('with or without a last one, and empty statements are none', () => {
    expect(texts('select 1; select 2')).toEqual(['select 1', 'select 2'])
    expect(texts(';;\nselect 1 ;\n ; \n')).toEqual(['select 1'])
    expect(texts(' \n-- nothing\n/* at all */')).toEqual([])
    expect(texts('')).toEqual([])
  })

  test('each with the line on which it begins, comments left out', () => {
    const sql = '-- Why.\n\nselect 1\n  + 1; /* and\nthen */ select 2;\n\n-- The last.\nselect 3'
    expect(splitStatements(sql)).toEqual([
      { text: 'select 1\n  + 1', line: 3 },
      { text: 'select 2', line: 5 },
      { text: 'select 3', line: 8 },
    ])
  })

  test('comments inside a statement stay, those behind it go', () => {
    expect(texts('create table t ( -- one; two\n a int /* ; */) -- end')).toEqual([
      'create table t ( -- one; two\n a int /* ; */)',
    ])
  })
})

describe('a semicolon is hidden', () => {
  test.each([
    ['a string, whose quote is doubled and whose backslash is one', String.raw`select 'a;''b;\', ';'`],
    ['an escape string', String.raw`select e'it\'s;', E'\\'`],
    ['an identifier', 'create table "a;""b" ()'],
    ['dollar quotes', 'do $$ begin; perform 1; end $$'],
    ['tagged dollar quotes, with others inside', "do $Körper_1$ select $$;$$; ';' $Körper_1$"],
    ['a comment in a comment', 'select 1 /* a; /* b; */ c; */ + 1'],
    ['a line comment that opens what it does not close', 'select 1 -- it\'s; $$ /* " \n + 1'],
    ['a string that opens a comment', "select '/*', '--', ';' || '*/'"],
  ])('in %s', (_, sql) => {
    expect(texts(`${sql}; select 'next'`)).toEqual([sql, "select 'next'"])
  })

  test.each([
    ['a word that ends in e is no escape string', String.raw`select type'a\'`],
    ['a dollar in a word opens nothing', 'select a$b$c'],
    ['a parameter opens nothing', 'select $1, $2'],
    ['a tag differs by a letter', 'select $a$ ; $b$ ; $a$'],
  ])('%s', (_, sql) => {
    expect(texts(`${sql}; select '$b$'`)).toEqual([sql, "select '$b$'"])
  })
})

test('every migration is cut where its lines say, and loses nothing but comments', () => {
  for (const [, sql] of readFolder()) {
    const statements = splitStatements(sql)
    expect(statements).not.toEqual([])
    for (const { text, line } of statements) {
      expect(text).toMatch(/^[a-z]/)
      expect(sql.split('\n')[line - 1]?.startsWith(text.split('\n')[0] ?? '-')).toBe(true)
    }
    const rest = statements.reduce((left, { text }) => left.replace(text, () => ''), sql)
    expect(rest.replaceAll(/--.*/g, '').trim()).toMatch(/^[;\s]*$/)
  }
})
