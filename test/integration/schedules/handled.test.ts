import { expect, it } from 'vitest'
import type { JobContext } from '../../../functions/entry/worker.ts'
import { expiredLocks } from '../../../shared/sweeps/expired_locks.ts'
import { useDatabase } from '../../support/database.ts'
import { addSchedule, fireOnce, midnight } from '../../support/schedules.ts'
import { sweepOnce } from '../../support/sweeping.ts'
import { anything, closesWorkers, workerOn } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()

it('a handler is told for which instant its job is, and how late it was fired', async () => {
  await addSchedule(database(), { name: `'told'`, actor: `'told'`, queue: `'told'` })
  await database().rows(`insert into taskq.actors (actor) values ('told')`)
  await fireOnce(database())
  const called = Promise.withResolvers<JobContext>()
  const actor = anything('told', 'told')
  const worker = await workerOn(database(), [actor.run((_, context) => called.resolve(context))])
  const context = await called.promise
  const [row] = await database().rows<{ due: Date }>(`select ${midnight(0)} as due`)
  expect(context.occurrenceDueAt).toEqual(row?.due)
  expect(context.metadata).toEqual({ schedule: 'told', latenessMs: expect.any(Number) })
  await worker.stop()
})

it('an instance that runs is told to be the last, and ends cancelled when it is taken back', async () => {
  const id = await addSchedule(database(), { next_fire_at: midnight(0) })
  await database().rows(
    `insert into taskq.jobs (actor, schedule_id, occurrence_due_at, status, attempt, claim_epoch, started_at,
       locked_by, lock_expires_at, unclaimed_since)
     values ('post', $1, ${midnight(1)}, 'running', 1, 1, now(), gen_random_uuid(),
       now() + interval '1 hour', null)`,
    [id],
  )
  expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1, superseded: 1 } })
  await database().rows(
    `update taskq.jobs set lock_expires_at = now() - interval '1 minute' where status = 'running'`,
  )
  expect(await sweepOnce(database(), expiredLocks)).toMatchObject({ byDisposition: { cancelled: 1 } })
  const jobs = await database().rows(
    `select status::text, superseded_by is not null as superseded from taskq.jobs
     where schedule_id = $1 order by occurrence_due_at`,
    [id],
  )
  expect(jobs).toEqual([
    { status: 'cancelled', superseded: true },
    { status: 'pending', superseded: false },
  ])
})

it('an instance whose worker died is reclaimed before the tick looks for open ones', async () => {
  const id = await addSchedule(database(), { on_open: `'skip'`, next_fire_at: midnight(0) })
  await database().rows(
    `insert into taskq.jobs (actor, schedule_id, occurrence_due_at, status, attempt, max_attempts,
       claim_epoch, started_at, locked_by, lock_expires_at)
     values ('post', $1, ${midnight(1)}, 'running', 1, 1, 1, now(), gen_random_uuid(),
       now() - interval '1 minute')`,
    [id],
  )
  expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1 } })
})
