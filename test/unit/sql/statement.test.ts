import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classify, clientTimeoutCode } from '../../../shared/sql/failures.ts'
import {
  arg,
  bind,
  quoteIdentifier,
  quoteLiteral,
  render,
  schema,
  sql,
} from '../../../shared/sql/statement.ts'
import { int4, jsonb, text, textArray } from '../../../shared/sql/types.ts'

describe('the sql tag', () => {
  it('numbers parameters by name, once each, through nested fragments', () => {
    const limit = arg('limit', int4)
    const inner = sql`name = ${arg('name', text)} and n < ${limit}`
    const outer = sql`select from ${schema}.jobs where ${inner} limit ${limit}`
    const { text: rendered, parameters } = render(outer, 'taskq')
    expect(rendered).toBe('select from "taskq".jobs where name = $1::text and n < $2::int4 limit $2::int4')
    expect(bind(parameters, { name: 'a', limit: 5 })).toEqual(['a', 5])
  })

  it('quotes the schema, so that no name of one can become SQL', () => {
    expect(render(sql`${schema}.x`, 'a"; drop schema b; --').text).toBe('"a""; drop schema b; --".x')
    expect(quoteIdentifier('a"b')).toBe('"a""b"')
  })

  it('sends JSON as text and an array as an array', () => {
    const { parameters } = render(
      sql`${arg('json', jsonb)} ${arg('list', textArray)} ${arg('none', jsonb.orNull)}`,
      's',
    )
    expect(bind(parameters, { json: [1, 'a'], list: ['x'], none: null })).toEqual(['[1,"a"]', ['x'], null])
  })

  it('quotes literals so that neither quotes nor backslashes end them', () =>
    fc.assert(
      fc.property(fc.string(), value => {
        const quoted = quoteLiteral(value)
        const body = quoted.replace(/^e?'/, '').slice(0, -1)
        const unquoted = body.replaceAll("''", "'")
        expect(quoted.startsWith('e') ? unquoted.replaceAll('\\\\', '\\') : unquoted).toBe(value)
      }),
    ))
})

describe('failures', () => {
  it.each([
    ['40P01', 'transient'],
    ['40001', 'transient'],
    ['55P03', 'transient'],
    ['57014', 'timeout'],
    ['25P04', 'timeout'],
    [clientTimeoutCode, 'timeout'],
    ['25P03', 'idle'],
    ['57P01', 'lost'],
    ['08006', 'lost'],
    ['ECONNRESET', 'lost'],
    ['23505', 'fault'],
    ['22P05', 'fault'],
  ])('%s is %s', (code, failure) => expect(classify(Object.assign(new Error('x'), { code }))).toBe(failure))

  it('without a code goes by what the driver says', () => {
    expect(classify(new Error('Connection terminated unexpectedly'))).toBe('lost')
    expect(classify(new Error('a defect'))).toBe('fault')
    expect(classify('text')).toBe('fault')
  })
})
