import { describe, expect, it } from 'vitest'
import type { RunPorts } from '../../../shared/sweeper/ports.ts'
import { expiredLocks } from '../../../shared/sweeps/expired_locks.ts'
import { promotion } from '../../../shared/sweeps/promotion.ts'
import { openDatabase, type TestDatabase } from '../../support/database.ts'
import { insertJobs, lockedJob } from '../../support/jobs.ts'
import { sweepOnce, watched } from '../../support/sweeping.ts'

const dueIn = (interval: string) => ({
  status: `'scheduled'`,
  scheduled_at: `clock_timestamp() + interval '${interval}'`,
})
const scheduled = { trigger: 'schedule' as const }

/**
 * A world in which sleeping takes no time: the sleeper moves every instant in the database back by as long as
 * it would have slept, and its own clock on by as much.
 */
function timeless(database: TestDatabase) {
  const slept: number[] = []
  let passedMs = 0
  const sleep = async (ms: number) => {
    slept.push(ms)
    passedMs += ms
    await database.rows(`update taskq.jobs set
      scheduled_at = scheduled_at - make_interval(secs => ${ms / 1000}),
      lock_expires_at = lock_expires_at - make_interval(secs => ${ms / 1000})`)
  }
  const ports: Partial<RunPorts> = { sleep, nowMs: () => performance.now() + passedMs }
  return { slept, ports }
}

async function inDatabase(check: (database: TestDatabase) => Promise<void>): Promise<void> {
  const database = await openDatabase()
  await check(database).finally(() => database.close())
}

describe('a pulsing function', () => {
  it('leaves at once when nothing falls due inside its window', () =>
    inDatabase(async database => {
      await insertJobs(database, dueIn('10 minutes'))
      const { slept, ports } = timeless(database)
      expect(await sweepOnce(database, promotion, { request: scheduled, ports })).toMatchObject({ pulses: 1 })
      expect(slept).toEqual([])
    }))

  it('sleeps until exactly the next due instant, then takes what is due, and counts its pulses', () =>
    inDatabase(async database => {
      await insertJobs(database, dueIn('3 seconds'))
      await insertJobs(database, dueIn('20 seconds'))
      await insertJobs(database, dueIn('10 minutes'))
      const { slept, ports } = timeless(database)
      const result = await sweepOnce(database, promotion, { request: scheduled, ports })
      expect(result).toMatchObject({ outcome: 'drained', rows: 2, pulses: 3, remaining: 0 })
      // In two parts: it connects a second before the instant.
      const [apart = 0, ready = 0] = slept
      expect(apart).toBeGreaterThan(1000)
      expect(apart + ready).toBeLessThanOrEqual(3000)
      expect(ready).toBeLessThanOrEqual(1000)
      // It wakes every five seconds to ask again: something may have come that is due earlier.
      expect(Math.max(...slept)).toBeLessThanOrEqual(5000)
      expect(slept.reduce((sum, ms) => sum + ms)).toBeLessThanOrEqual(20_001)
      const [state] = await database.rows(`select last_rows::int, rows_total::int, recent_outcomes
        from taskq.sweep_state where function = 'promotion'`)
      expect(state).toEqual({ last_rows: 2, rows_total: 2, recent_outcomes: ['drained'] })
    }))

  it('takes what came while it slept and is due earlier', () =>
    inDatabase(async database => {
      await insertJobs(database, dueIn('30 seconds'))
      const { slept, ports } = timeless(database)
      const sleep = async (ms: number) => {
        if (slept.length === 0) await insertJobs(database, dueIn('6 seconds'))
        await ports.sleep?.(ms)
      }
      const result = await sweepOnce(database, promotion, { request: scheduled, ports: { ...ports, sleep } })
      expect(result).toMatchObject({ rows: 2, pulses: 3 })
    }))

  it.each([
    ['started by hand', { trigger: 'manual' as const }, {}],
    ['whose window is 0', scheduled, { invocationWindow: 0 }],
  ])('%s drains and leaves', (_, request, settings) =>
    inDatabase(async database => {
      await insertJobs(database, dueIn('3 seconds'))
      const { slept, ports } = timeless(database)
      const result = await sweepOnce(database, promotion, { request, settings, ports })
      expect(result).toMatchObject({ pulses: 1 })
      expect(slept).toEqual([])
    }),
  )

  it('takes what fell due after its last window and before it asked for the next instant', () =>
    inDatabase(async database => {
      const dueNow = { status: `'scheduled'`, scheduled_at: 'clock_timestamp()' }
      let asked = 0
      const connect = async () => {
        const connection = await database.connect()
        const run = connection.run.bind(connection)
        connection.run = async (statement, args) => {
          if ((statement as unknown) === promotion.pulse?.untilNext && asked++ === 0) {
            await insertJobs(database, dueNow)
          }
          return run(statement, args)
        }
        return connection
      }
      const result = await sweepOnce(database, promotion, { request: scheduled, ports: { connect } })
      expect(result).toMatchObject({ outcome: 'drained', rows: 1, pulses: 2 })
    }))

  it('asks once about a due row that somebody has locked, and does not spin', () =>
    inDatabase(async database => {
      await insertJobs(database, {
        status: `'scheduled'`,
        scheduled_at: `clock_timestamp() + interval '100 milliseconds'`,
      })
      const holder = await database.client()
      await holder.query('begin; select from taskq.jobs for update')
      const { slept, ports } = timeless(database)
      const sleep = async (ms: number) => {
        slept.push(ms)
        await new Promise(resolve => setTimeout(resolve, ms))
      }
      const result = await sweepOnce(database, promotion, { request: scheduled, ports: { ...ports, sleep } })
      await holder.query('rollback')
      expect(result).toMatchObject({ outcome: 'drained', rows: 0 })
      expect(result.pulses).toBeLessThanOrEqual(3)
    }))

  it('leaves a job alone that never falls due', () =>
    inDatabase(async database => {
      await insertJobs(database, { status: `'scheduled'`, scheduled_at: `'infinity'` })
      await insertJobs(database, { ...lockedJob(), lock_expires_at: `'infinity'` })
      for (const sweep of [promotion, expiredLocks]) {
        expect(await sweepOnce(database, sweep, { request: scheduled })).toMatchObject({ outcome: 'drained' })
      }
    }))

  it('leaves when a successor has started', () =>
    inDatabase(async database => {
      await insertJobs(database, dueIn('3 seconds'))
      await insertJobs(database, dueIn('20 seconds'))
      const { slept, ports } = timeless(database)
      const sleep = async (ms: number) => {
        await ports.sleep?.(ms)
        await database.rows(`update taskq.sweep_state set last_started_at = clock_timestamp()`)
      }
      const result = await sweepOnce(database, promotion, { request: scheduled, ports: { ...ports, sleep } })
      expect(result).toMatchObject({ rows: 1, pulses: 2 })
      expect(slept).toHaveLength(2)
    }))

  it('does not stay longer than the platform leaves it', () =>
    inDatabase(async database => {
      await insertJobs(database, dueIn('30 seconds'))
      const { slept, ports } = timeless(database)
      await sweepOnce(database, promotion, {
        request: scheduled,
        ports: { ...ports, remainingMs: () => 20_000 },
      })
      expect(slept).toEqual([])
    }))

  it('gives its connection back for a long sleep', () =>
    inDatabase(async database => {
      await insertJobs(database, dueIn('4 seconds'))
      const { ports } = timeless(database)
      const steps: string[] = []
      const connect = async () => watched(await database.connect(), step => void steps.push(step))
      await sweepOnce(database, promotion, { request: scheduled, ports: { ...ports, connect } })
      expect(steps.filter(step => step === 'close').length).toBeGreaterThanOrEqual(2)
    }))

  it('never pulses faster than its interval, where it has one', () =>
    inDatabase(async database => {
      const lease = (interval: string) => ({
        ...lockedJob(),
        lock_expires_at: `clock_timestamp() + interval '${interval}'`,
      })
      for (const interval of ['1 second', '2 seconds', '3 seconds'])
        await insertJobs(database, lease(interval))
      const { ports } = timeless(database)
      const settings = { sweepInterval: 5000 }
      const result = await sweepOnce(database, expiredLocks, { request: scheduled, settings, ports })
      expect(result).toMatchObject({ rows: 3, pulses: 2 })
      // By the sleeper's own clock: what a connection took on the way was not slept.
      expect(result.durationMs).toBeGreaterThanOrEqual(5000)
    }))

  it('stops its sleep when it is told to', () =>
    inDatabase(async database => {
      await insertJobs(database, dueIn('3 seconds'))
      const stop = new AbortController()
      const sleep = async () => stop.abort()
      const result = await sweepOnce(database, promotion, {
        request: scheduled,
        ports: { sleep, signal: stop.signal },
      })
      expect(result).toMatchObject({ rows: 0, pulses: 1 })
    }))
})
