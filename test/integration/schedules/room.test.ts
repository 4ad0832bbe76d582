import { beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import {
  addSchedule,
  brokenFacts,
  clearSchedules,
  deliverable,
  fireOnce,
  midnight,
  standingOf,
} from '../../support/schedules.ts'

const database = useDatabase()

beforeEach(() => clearSchedules(database()))

describe('an actor that takes no more', () => {
  it('defers a deliverable, without a strike, and what has room fires', async () => {
    await database().rows(`insert into taskq.actors (actor, max_pending) values ('narrow', 3)`)
    const id = await addSchedule(database(), { ...deliverable, actor: `'narrow'`, next_fire_at: midnight(4) })
    const result = await fireOnce(database())
    expect(result).toMatchObject({ outcome: 'drained', byDisposition: { fired: 3, deferred: 1 } })
    expect(await standingOf(database(), id)).toMatchObject({
      failures: 0,
      jobs: 3,
      deferred: true,
      waits: true,
    })
    await database().rows(`update taskq.jobs set status = 'succeeded' where actor = 'narrow'`)
    await database().rows('update taskq.schedules set retry_not_before = null')
    await fireOnce(database())
    expect(await standingOf(database(), id)).toMatchObject({ jobs: 5, deferred: false, error: null })
    expect(await brokenFacts(database())).toEqual([])
  })

  it('counts the jobs that the tick itself is about to store', async () => {
    await database().rows(`insert into taskq.actors (actor, max_pending) values ('few', 3)`)
    for (let n = 0; n < 5; n++) {
      await addSchedule(database(), { actor: `'few'` })
      await addSchedule(database())
    }
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 3 + 5, skipped_open: 2 } })
  })

  it('has room for what takes the place of an instance of its own', async () => {
    await database().rows(`insert into taskq.actors (actor, max_pending, singleton) values ('one', 1, true)`)
    const id = await addSchedule(database(), { actor: `'one'` })
    await database().rows(`insert into taskq.jobs (actor, schedule_id) values ('one', '${id}')`)
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1, superseded: 1 } })
  })

  it.each(['pending', 'scheduled', 'running'])('is a singleton with a job that is %s', async status => {
    await database().rows(
      `insert into taskq.actors (actor, singleton) values ('alone', true) on conflict do nothing`,
    )
    await database().rows(`insert into taskq.jobs (actor, status) values ('alone', '${status}')`)
    const skipped = await addSchedule(database(), { actor: `'alone'` })
    const deferred = await addSchedule(database(), { ...deliverable, actor: `'alone'` })
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { skipped_open: 1, deferred: 1 } })
    expect(await standingOf(database(), skipped)).toMatchObject({ failures: 0, skipped: 1, jobs: 0 })
    expect(await standingOf(database(), deferred)).toMatchObject({
      failures: 0,
      owed: true,
      jobs: 0,
      deferred: true,
    })
    // A cursor that stays leaves no decision: every minute would leave one.
    const decided = await database().rows('select schedule_id from taskq.schedule_decisions')
    expect(decided).toEqual([{ schedule_id: skipped }])
  })
})
