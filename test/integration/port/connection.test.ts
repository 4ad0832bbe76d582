import { describe, expect, it } from 'vitest'
import { classify, codeOf } from '../../../shared/sql/failures.ts'
import { arg, sql, statement } from '../../../shared/sql/statement.ts'
import { float8, int8, int8Array, jsonb, text, textArray } from '../../../shared/sql/types.ts'
import { useDatabase } from '../../support/database.ts'

const database = useDatabase()

const sleep = statement(
  'sleep',
  { slept: text },
  sql`select pg_sleep(${arg('seconds', float8)})::text as slept`,
)
const linger = statement(
  'linger',
  { lingered: text },
  sql`select pg_sleep(${arg('seconds', float8)})::text as lingered`,
)
const divide = statement('divide', { n: int8 }, sql`select 1 / ${arg('by', int8)} as n`)
const kinds = statement(
  'kinds',
  { n: int8, many: int8Array, told: text, list: textArray, data: jsonb },
  sql`select ${arg('n', int8)} as n, array[1, ${arg('n', int8)}] as many, ${arg('told', text)} as told,
    ${arg('list', textArray)} as list, ${arg('data', jsonb)} as data`,
)

describe('a connection', () => {
  it('takes and gives values of every kind', async () => {
    const connection = await database().connect()
    const given = {
      n: 2 ** 53 - 1,
      told: `it's "so" \\ ü\n`,
      list: ['a,b', '{}', '"', ''],
      data: [{ a: null }],
    }
    expect(await connection.run(kinds, given)).toEqual([{ ...given, many: [1, given.n] }])
  })

  it('lives on after a statement that the server refused', async () => {
    const connection = await database().connect()
    const error = await connection.run(divide, { by: 0 }).catch((refusal: unknown) => refusal)
    expect([codeOf(error), classify(error), connection.usable]).toEqual(['22012', 'fault', true])
    expect(await connection.run(divide, { by: 1 })).toEqual([{ n: 1 }])
  })

  it('gives a statement up by itself when no answer comes, and is thrown away', async () => {
    const connection = await database().connect({ queryTimeoutMs: 300 })
    const error = await connection.run(sleep, { seconds: 60 }).catch((refusal: unknown) => refusal)
    expect([codeOf(error), classify(error), connection.usable]).toEqual(['CLIENT_TIMEOUT', 'timeout', false])
    await connection.close()
  })

  it('that the server ended is told as lost, is thrown away, and closes all the same', async () => {
    const connection = await database().connect()
    const asked = connection.run(linger, { seconds: 60 }).catch((refusal: unknown) => refusal)
    const end = () =>
      database().rows(`select pg_terminate_backend(pid) from pg_stat_activity
        where state = 'active' and query like '%lingered%' and pid <> pg_backend_pid()`)
    await expect.poll(end).toHaveLength(1)
    expect(classify(await asked)).toBe('lost')
    expect(connection.usable).toBe(false)
    await connection.close()
  })

  it('whose transaction sat idle for too long is told so by its next statement', async () => {
    const connection = await database().connect()
    const opening = {
      lock: null,
      statementTimeoutMs: 5000,
      lockTimeoutMs: 1000,
      idleTimeoutMs: 50,
      transactionTimeoutMs: 60_000,
      target: { installationId: undefined, environment: undefined },
    }
    await connection.openBatch(opening)
    const [holder] = (await connection.script('select pg_backend_pid() as pid')) as { pid: number }[]
    const alive = () => database().rows('select from pg_stat_activity where pid = $1', [holder?.pid])
    await expect.poll(alive).toEqual([])
    await expect(connection.run(divide, { by: 1 })).rejects.toThrow()
    expect(connection.usable).toBe(false)
    await connection.close()
  })
})
