import { describe, expect, test } from 'vitest'
import { freePort } from '../../../functions/dev/kept-process.ts'
import { connectorOf, openConnection, type Wanted } from '../../../functions/runtime/connection.ts'
import { readSettings } from '../../../shared/core/read-settings.ts'

/** What is wanted of a port where nobody listens, and the waits that it came to. */
async function nobody(random: number) {
  const waits: number[] = []
  const url = `postgres://app:hunter2@127.0.0.1:${await freePort()}/app`
  const wanted: Wanted = {
    settings: readSettings({ TASKQ_DATABASE_URL: url, TASKQ_CONNECT_TIMEOUT: '1s' }),
    applicationName: 'test',
    queryTimeoutMs: 1000,
    sleep: async ms => void waits.push(ms),
    random: () => random,
  }
  return { wanted, waits }
}

const unreachable = { code: 'DATABASE_UNREACHABLE' }

describe('a connection that cannot be had', () => {
  test.each([
    [0, 100],
    [0.5, 300],
    [1, 500],
  ])('is tried once more after a moment: at %d of chance, %i ms', async (random, waitMs) => {
    const { wanted, waits } = await nobody(random)
    await expect(openConnection(wanted)).rejects.toMatchObject(unreachable)
    expect(waits).toEqual([waitMs])
  })

  test('is said by host and database, without who wanted it', async () => {
    const { wanted } = await nobody(0)
    const error = await openConnection(wanted).catch((failed: Error) => failed)
    expect(error).toHaveProperty(
      'message',
      expect.stringMatching(/^no connection to 127\.0\.0\.1:\d+\/app: /),
    )
    expect(String(error)).not.toContain('hunter2')
  })
})

test('a password with a slash that is not escaped is told no part of', async () => {
  const { wanted } = await nobody(0)
  const databaseUrl = 'postgres://app:hun/ter2@127.0.0.1:1/app'
  const odd = { ...wanted, settings: { ...wanted.settings, databaseUrl } }
  const error = await openConnection(odd).catch((failed: Error) => failed)
  expect(error).toMatchObject(unreachable)
  expect((error as Error).message).not.toMatch(/hun|ter2/)
})

describe('an invocation', () => {
  test('by a rule waits up to half a second before its first connection alone', async () => {
    const { wanted, waits } = await nobody(0.5)
    const connect = connectorOf(wanted, { isSpread: true })
    await expect(connect()).rejects.toMatchObject(unreachable)
    await expect(connect()).rejects.toMatchObject(unreachable)
    expect(waits).toEqual([250, 300, 300])
  })

  test('by a person does not wait', async () => {
    const { wanted, waits } = await nobody(0.5)
    await expect(connectorOf(wanted, { isSpread: false })()).rejects.toMatchObject(unreachable)
    expect(waits).toEqual([300])
  })
})
