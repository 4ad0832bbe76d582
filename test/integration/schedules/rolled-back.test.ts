import { beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import {
  addSchedule,
  brokenFacts,
  clearSchedules,
  deliverable,
  fireOnce,
  midnight,
} from '../../support/schedules.ts'

const database = useDatabase()

beforeEach(() => clearSchedules(database()))

/** What each job's row does before it is stored. */
async function onJobRow(body: string): Promise<void> {
  await database().rows(`create or replace function before_job() returns trigger language plpgsql as $$
    begin ${body}; return new; end $$`)
  await database().rows(`create or replace trigger before_job before insert on taskq.jobs
    for each row execute function before_job()`)
}

const standing = () =>
  database().rows(
    `select consecutive_failures as failures, deferred_since is not null as deferred,
       last_fire_error as error,
       next_fire_at < clock_timestamp() as owes, (select count(*)::int from taskq.jobs j
       where j.schedule_id = s.id) as jobs
     from taskq.schedules s order by payload ? 'bad', id`,
  )

describe('a tick for which the server has no time', () => {
  it('goes on with half as much, until all has fired', async () => {
    // Ten rows fit into the time of a tick, and forty do not.
    await onJobRow('perform pg_sleep(0.02)')
    for (const daysAgo of [0, 0, 37]) {
      await addSchedule(database(), { ...deliverable, next_fire_at: midnight(daysAgo) })
    }
    const result = await fireOnce(database(), { settings: { cronTickTimeoutMs: 500 } })
    expect(result).toMatchObject({ outcome: 'drained', byDisposition: { fired: 40 }, remaining: 0 })
    expect(result.batchesAborted).toBeGreaterThan(0)
    expect(await brokenFacts(database())).toEqual([])
  })

  it.each(['57014', '40001', '55P03'])(
    'lets one wait whose row alone raises %s, and fires all others',
    async code => {
      await onJobRow(`if new.payload ? 'bad' then raise sqlstate '${code}'; end if`)
      for (let n = 0; n < 9; n++) await addSchedule(database())
      await addSchedule(database(), { payload: `'{"bad": 1}'`, ...deliverable })
      const result = await fireOnce(database())
      // The run is no success, so that nobody takes it for one.
      expect(result).toMatchObject({ outcome: 'aborted', byDisposition: { fired: 9, deferred: 1 } })
      const good = { failures: 0, deferred: false, error: null, owes: false, jobs: 1 }
      const bad = { failures: 0, deferred: true, error: code, owes: true, jobs: 0 }
      expect(await standing()).toEqual([...Array.from({ length: 9 }, () => good), bad])
      expect(await brokenFacts(database())).toEqual([])
    },
  )

  it('ends as aborted where no time is left to try half of it', async () => {
    await onJobRow('perform pg_sleep(60)')
    for (let n = 0; n < 4; n++) await addSchedule(database())
    let calls = 0
    // Enough for the tick that fails, and for nothing after it.
    const remainingMs = () => (calls++ < 1 ? 60_000 : 0)
    const settings = { cronTickTimeoutMs: 500 }
    const result = await fireOnce(database(), { settings, ports: { remainingMs } })
    expect(result).toMatchObject({ outcome: 'aborted', rows: 0, batchesAborted: 1 })
    expect((await standing()).map(({ owes }) => owes)).toEqual([true, true, true, true])
  })
})
