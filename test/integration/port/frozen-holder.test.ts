import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockName } from '../../../shared/core/names.ts'
import { expiredLocks } from '../../../shared/sweeps/expired_locks.ts'
import { useDatabase } from '../../support/database.ts'
import { type Holder, startHolder } from '../../support/holder.ts'
import { insertJobs, lockedJob, snapshot } from '../../support/jobs.ts'
import { sweepOnce } from '../../support/sweeping.ts'

const database = useDatabase()
let holder: Holder | undefined

beforeEach(() => database().rows('truncate taskq.jobs, taskq.job_events cascade'))
afterEach(() => holder?.kill())

/** How many sessions hold the function's lock. */
const holders = async () =>
  (
    await database().rows(
      `select pid from pg_locks where locktype = 'advisory' and granted
       and ((classid::bigint << 32) | objid::bigint) = hashtextextended($1, 0)
       and database = (select oid from pg_database where datname = current_database())`,
      [lockName(expiredLocks.purpose, 'taskq')],
    )
  ).length

const untilFree = () => expect.poll(holders, { timeout: 9000 }).toBe(0)

/** What each run leaves of a job that it takes. */
const traces = () =>
  database().rows(`select (select count(*)::int from taskq.job_events) as events,
    (select count(*)::int from taskq.job_attempts) as attempts`)

/**
 * What ends the transaction of a process that no longer runs, each with the other far away. Where the server
 * has no transaction timeout, the idle one does both.
 */
const bounds = {
  'the idle timeout': () => ({ idleInTransactionTimeoutMs: 300 }),
  'the transaction timeout, where the server has one': () =>
    database().version >= 17
      ? { idleInTransactionTimeoutMs: 10_000, eventWriterStatementTimeoutMs: 50 }
      : { idleInTransactionTimeoutMs: 800 },
}

describe.each(Object.entries(bounds))('a frozen holder of a batch loses its lock by %s', (_, settings) => {
  it.each([
    ['before its statement', 'run'],
    ['before its commit', 'commit'],
  ] as const)(
    'where it was frozen %s: another run does its work, and thawed it writes nothing',
    async (_name, waitsBefore) => {
      await insertJobs(database(), lockedJob({ expired: true }))
      holder = startHolder(database(), { settings: settings(), waitsBefore })
      await holder.inside()
      expect(await holders()).toBe(1)
      holder.freeze()
      await untilFree()
      expect(await sweepOnce(database(), expiredLocks)).toMatchObject({ outcome: 'drained', rows: 1 })
      const done = await snapshot(database())
      expect(holder.isFrozen()).toBe(true)

      await insertJobs(database(), lockedJob({ expired: true }))
      const { held, connections, isFirstUsable, next } = await holder.thaw()
      expect(held).not.toBe('drained')
      expect(isFirstUsable).toBe(false)
      // It failed, or told its state by a second one. The next invocation has one of its own in any case.
      expect(connections).toBeLessThanOrEqual(2)
      expect(next).toMatchObject({ outcome: 'drained', rows: 1 })
      expect(await snapshot(database())).toEqual(expect.arrayContaining(done))
      expect(await traces()).toEqual([{ events: 2, attempts: 2 }])
    },
  )
})

describe('a holder that is killed in the middle of its statement', () => {
  it('keeps its lock until the statement timeout of the server; then another run works', async () => {
    await insertJobs(database(), lockedJob({ expired: true }))
    await database().rows(`create function stay() returns trigger language plpgsql as $$ begin
      perform pg_sleep(60); return new; end $$`)
    await database().rows(
      'create trigger stay before update on taskq.jobs for each row execute function stay()',
    )
    const settings = { eventWriterStatementTimeoutMs: 3000 }
    holder = startHolder(database(), { settings, waitsBefore: null })
    const asleep = `select pid from pg_stat_activity
      where wait_event = 'PgSleep' and application_name = 'holder' and datname = current_database()`
    await expect.poll(async () => (await database().rows(asleep)).length).toBe(1)
    await holder.kill()
    // No server looks at the socket of a session that works.
    expect(await holders()).toBe(1)
    await untilFree()
    await database().rows('drop function stay cascade')
    expect(await sweepOnce(database(), expiredLocks)).toMatchObject({ outcome: 'drained', rows: 1 })
    expect(await traces()).toEqual([{ events: 1, attempts: 1 }])
  })
})
