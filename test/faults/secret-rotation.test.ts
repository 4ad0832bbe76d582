import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClient } from '../../functions/entry/client.ts'
import { connectorOf } from '../../functions/runtime/connection.ts'
import { expiredLocks } from '../../shared/sweeps/expired_locks.ts'
import { useDatabase } from '../support/database.ts'
import { insertJobs, lockedJob } from '../support/jobs.ts'
import { type RotatedSecret, serveRotatedSecret } from '../support/rotated-secret.ts'
import { sweepOnce } from '../support/sweeping.ts'
import { anything } from '../support/working.ts'

const database = useDatabase()
let secret: RotatedSecret

beforeEach(async () => {
  await database().rows('truncate taskq.jobs, taskq.job_events cascade')
  secret = await serveRotatedSecret(database())
})
afterEach(() => secret.close())

const expiredRows = 3000
const actor = anything()
const later = { delay: '1d' } as const

/** Enqueuers and sweeps that connect anew for each call, as short-lived functions do, until told to stop. */
function load() {
  const stop = new AbortController()
  const stored: number[] = []
  const failures: { code?: string }[] = []
  let sweeps = 0
  let calls = 0
  const forever = async (call: () => Promise<unknown>) => {
    while (!stop.signal.aborted) await call().catch((error: { code?: string }) => failures.push(error))
  }
  const enqueue = async () => {
    const n = calls++
    await using taskq = await createClient({ settings: secret.settings })
    await taskq.enqueue(actor, n, later)
    stored.push(n)
  }
  const sweep = async () => {
    const { settings } = secret
    const wanted = { settings, applicationName: 'sweep', queryTimeoutMs: 10_000 }
    const ports = { sleep: () => Promise.resolve(), random: Math.random }
    const connect = connectorOf({ ...wanted, ...ports }, { isSpread: false })
    const request = { batchSize: 5, maxBatches: 1 }
    await sweepOnce(database(), expiredLocks, { ports: { connect }, request })
    sweeps += 1
  }
  const running = Promise.all([...Array.from({ length: 12 }, () => enqueue), sweep, sweep].map(forever))
  const end = async () => {
    stop.abort()
    await running
  }
  return { stored, failures, sweeps: () => sweeps, end }
}

/** Returns once both kinds of callers have succeeded a few times more. */
async function someMore({ stored, sweeps }: ReturnType<typeof load>): Promise<void> {
  const [storedBefore, sweepsBefore] = [stored.length, sweeps()]
  await expect.poll(() => stored.length, { timeout: 20_000 }).toBeGreaterThan(storedBefore + 10)
  await expect.poll(sweeps, { timeout: 20_000 }).toBeGreaterThan(sweepsBefore + 3)
}

/** What was answered as stored is stored, once, and nothing else is; each expired job was taken once. */
async function expectNothingLostOrDoubled({ stored }: ReturnType<typeof load>): Promise<void> {
  await sweepOnce(database(), expiredLocks)
  const found = await database().rows<{ payload: number }>(
    `select payload from taskq.jobs where attempt = 0 order by payload::int`,
  )
  expect(found.map(({ payload }) => payload)).toEqual(stored.toSorted((a, b) => a - b))
  const [taken] = await database().rows(
    `select count(*)::int as attempts, count(distinct job_id)::int as jobs from taskq.job_attempts`,
  )
  expect(taken).toEqual({ attempts: expiredRows, jobs: expiredRows })
}

describe('a password that is rotated under load', () => {
  /** Rotates under load, and ends it. */
  const rotated = async (rotate: (working: ReturnType<typeof load>) => Promise<void>) => {
    await insertJobs(database(), lockedJob({ expired: true }), expiredRows)
    const working = load()
    await someMore(working)
    await rotate(working).finally(working.end)
    await expectNothingLostOrDoubled(working)
    return working
  }

  it('of two users in turn fails no call, and each refused password is read anew once', async () => {
    const users = [1, 0, 1, 0, 1, 0] as const
    const { failures } = await rotated(async working => {
      for (const user of users) {
        secret.renew(user)
        await secret.alter(user)
        secret.publish(user)
        await someMore(working)
      }
    })
    expect(failures).toEqual([])
    expect(secret.fetches()).toBeGreaterThan(1)
    expect(secret.fetches()).toBeLessThanOrEqual(1 + users.length)
  })

  it('of one user fails as unreachable between its two steps, and recovers by itself', async () => {
    const times = 3
    const { failures } = await rotated(async working => {
      for (let time = 0; time < times; time++) {
        const before = working.failures.length
        secret.renew(0)
        await secret.alter(0)
        await expect.poll(() => working.failures.length).toBeGreaterThan(before)
        secret.publish(0)
        await someMore(working)
      }
    })
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['DATABASE_UNREACHABLE']))
    // Each call that failed read it once more, in vain, and each new password was read once.
    expect(secret.fetches()).toBeLessThanOrEqual(1 + times + failures.length)
  })

  it('of one user, written into the secret first, fails no call of who has read the old one', async () => {
    const times = 3
    const { failures } = await rotated(async working => {
      for (let time = 0; time < times; time++) {
        secret.renew(0)
        secret.publish(0)
        await someMore(working)
        await secret.alter(0)
        await someMore(working)
      }
    })
    expect(failures).toEqual([])
    expect(secret.fetches()).toBe(1 + times)
  })
})
