import { describe, expect, it } from 'vitest'
import type { PayloadFactory } from '../../../shared/schedules/payload-factory.ts'
import { inScheduleTransaction } from '../../../shared/schedules/verbs/schedule-transaction.ts'
import { schedulesOn } from '../../../shared/schedules/verbs/schedules.ts'
import { dailyDeliverable, dailyIntent, post, useSchedules } from '../../support/schedule-verbs.ts'
import { fireOnce, midnight } from '../../support/schedules.ts'
import { settingsWith } from '../../support/sweeping.ts'

const { database, schedules, rowOf, decisions, owingSince, audited } = useSchedules()

interface StoredJob {
  readonly status: string
  readonly payload: unknown
  readonly due: Date
  readonly at: Date
  readonly unclaimed: Date
  readonly lateness: number
}

const jobs = () =>
  database().rows<StoredJob>(
    `select status::text, payload, occurrence_due_at as due, scheduled_at as at, unclaimed_since as unclaimed,
       (metadata ->> 'latenessMs')::int as lateness
     from taskq.jobs order by occurrence_due_at, id`,
  )

/** The verbs of a process that has a definitions module. */
async function defined(factory: PayloadFactory) {
  const [connection, settings] = [
    await database().connect(),
    settingsWith({ cronPayloadFactoryTimeout: 1000 }),
  ]
  return schedulesOn({
    transact: work => inScheduleTransaction(connection, settings, 'maintenance', work),
    settings,
    principal: 'ada@laptop',
    definitions: { payloadFactories: { made: factory }, schemas: { post: post.payload } },
  })
}

describe('run-now', () => {
  it('stores one job for this moment, and leaves the cursor and what failed', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    await database().rows(`update taskq.schedules set consecutive_failures = 2, last_fire_error = 'no',
      retry_not_before = now() + interval '1 day'`)
    const before = await rowOf()
    const ran = await taskq.runNow('daily', { reason: 'the page is empty' })
    const [row] = await database().rows(
      `select j.id, o.due_at = j.occurrence_due_at and o.due_at between s.revised_at and now() as due
       from taskq.jobs j join taskq.schedule_occurrences o on o.job_id = j.id
       join taskq.schedules s on s.id = j.schedule_id`,
    )
    expect(row).toEqual({ id: ran.jobId, due: true })
    expect(ran).toMatchObject({ name: 'daily', outcome: 'fired', superseded: 0 })
    expect(await rowOf()).toEqual({ ...before, last_fired_at: expect.any(Date) })
    expect((await decisions()).at(-1)).toMatchObject({
      action: 'run_now',
      principal: 'application',
      stands: true,
    })
    const told = { principal: 'application', action: 'run_now_schedule', target: 'daily' }
    expect((await audited()).at(-1)).toEqual({ ...told, reason: 'the page is empty' })
  })

  it('supersedes or is left out, as the schedule answers for what is open', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    await taskq.create({ ...dailyIntent, name: 'skips', intent: { missed: 'latest', onOpen: 'skip' } })
    await taskq.runNow('daily')
    expect(await taskq.runNow('daily')).toMatchObject({ outcome: 'fired', superseded: 1 })
    await taskq.runNow('skips')
    expect(await taskq.runNow('skips')).toMatchObject({ outcome: 'skipped_open', jobId: null })
    expect((await jobs()).map(({ status }) => status)).toEqual(['cancelled', 'pending', 'pending'])
    expect(await decisions('skips')).toHaveLength(3)
  })

  it('runs one that is paused, and one that has no next instant', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await taskq.pause('daily')
    expect(await taskq.runNow('daily')).toMatchObject({ outcome: 'fired' })
    await database().rows('update taskq.schedules set next_fire_at = null')
    expect(await taskq.runNow('daily')).toMatchObject({ outcome: 'fired' })
    expect(await rowOf()).toMatchObject({ enabled: false, next_fire_at: null })
  })

  it('writes nothing where the actor of a deliverable takes no more', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await database().rows('update taskq.actors set max_pending = 1')
    await taskq.runNow('daily')
    const before = await rowOf()
    expect(await taskq.runNow('daily')).toEqual({
      name: 'daily',
      outcome: 'deferred',
      jobId: null,
      superseded: 0,
    })
    expect(await rowOf()).toEqual(before)
    expect(await decisions()).toHaveLength(2)
  })

  it('takes a payload in place of the schedule’s, and needs one where a factory makes it', async () => {
    const taskq = await schedules()
    const { payload: _, ...unpaid } = dailyDeliverable
    await taskq.create(dailyDeliverable)
    await taskq.create({ ...unpaid, name: 'made', payloadFactory: 'made' })
    await taskq.runNow('daily', { payload: { n: 7 } })
    await expect(taskq.runNow('made')).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'payload' })
    await taskq.runNow('made', { payload: { n: 8 } })
    const withFactory = await defined(({ schedule, latenessMs, dueAt }) => ({
      n: schedule === 'made' && latenessMs === 0 && dueAt.getTime() > 0 ? 9 : 0,
    }))
    await withFactory.runNow('made')
    expect((await jobs()).map(({ payload }) => payload)).toEqual([{ n: 7 }, { n: 8 }, { n: 9 }])
  })

  it.each<[string, string, PayloadFactory]>([
    ['PAYLOAD_INVALID', 'payloadFactory', () => Promise.reject(new Error('no\u0000thing'))],
    ['PAYLOAD_INVALID', 'payloadFactory', () => new Promise(() => undefined)],
    ['PAYLOAD_INVALID', 'payload.n', () => ({ n: 'x' })],
  ])('of a factory that fails is %s at %s, and stores nothing', async (code, field, factory) => {
    const { payload: _, ...unpaid } = dailyDeliverable
    await (await schedules()).create({ ...unpaid, payloadFactory: 'made' })
    await expect((await defined(factory)).runNow('daily')).rejects.toMatchObject({ code, field })
    expect(await jobs()).toEqual([])
  })

  it('is LOCK_TIMEOUT where it was edited while its payload was made, and stores nothing', async () => {
    const taskq = await schedules()
    const { payload: _, ...unpaid } = dailyDeliverable
    await taskq.create({ ...unpaid, payloadFactory: 'made' })
    const editing = await defined(async () => {
      await taskq.edit('daily', { every: '1h' })
      return { n: 1 }
    })
    await expect(editing.runNow('daily')).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    expect(await jobs()).toEqual([])
  })

  it('is LOCK_TIMEOUT while somebody holds the open job that it would supersede', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    await taskq.runNow('daily')
    const holder = await database().client()
    await holder.query('begin; select from taskq.jobs for update')
    await expect(taskq.runNow('daily')).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    await holder.query('commit')
    expect(await jobs()).toHaveLength(1)
  })
})

describe('backfill', () => {
  const range = async (from: string, to: string) => {
    const [row] = await database().rows<{ from: Date; to: Date }>(`select ${from} as from, ${to} as to`)
    return row as { from: Date; to: Date }
  }

  it('fires what of a past range was never decided, and nothing twice', async () => {
    const taskq = await schedules({ cronMaxCatchUp: 2 })
    await taskq.create(dailyDeliverable)
    const before = await rowOf()
    expect(await taskq.backfill('daily', await range(midnight(3), midnight(2)))).toEqual({
      name: 'daily',
      fired: 2,
      existing: 0,
      complete: true,
    })
    const filled = await taskq.backfill('daily', {
      ...(await range(midnight(6), midnight(0))),
      reason: 'owed',
    })
    expect(filled).toEqual({ name: 'daily', fired: 5, existing: 2, complete: true })
    const stored = await jobs()
    expect(stored).toHaveLength(7)
    expect(await rowOf()).toEqual({ ...before, last_fired_at: expect.any(Date) })
    const all = (await decisions()).slice(1)
    expect(all.map(({ action, stands }) => [action, stands])).toEqual(Array(5).fill(['backfill', true]))
    // Nobody owed them, so that they are not late, and page nobody at once.
    for (const { at, unclaimed, lateness } of stored) {
      expect([unclaimed, lateness < 60_000]).toEqual([at, true])
      expect(at.getTime()).toBeGreaterThan((before['created_at'] as Date).getTime())
    }
  })

  it('of what is owed has its age, and the tick does not fire it again', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await owingSince(midnight(2))
    await taskq.backfill('daily', await range(midnight(1), midnight(1)))
    const [one] = await jobs()
    expect(one?.at).toEqual(one?.due)
    await fireOnce(database())
    expect((await jobs()).map(({ due }) => due)).toHaveLength(3)
    expect((await decisions()).at(-1)).toMatchObject({ action: 'fire', stands: true })
  })

  it('takes each instant from the definition of its time', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await taskq.edit('daily', { cron: '0 12 * * *' })
    await database().rows(`update taskq.schedules set revised_at = ${midnight(3)} + interval '1 hour';
      update taskq.schedule_revisions set revised_at = ${midnight(3)} + interval '1 hour' where revision = 2`)
    await taskq.backfill('daily', await range(midnight(5), midnight(2)))
    const hours = (await jobs()).map(({ due }) => due.getUTCHours())
    expect(hours).toEqual([0, 0, 0, 12])
  })

  it('takes nominal instants for its range, however late each fires', async () => {
    const taskq = await schedules()
    await taskq.create({ ...dailyDeliverable, smear: '1d' })
    const asked = await range(midnight(4), midnight(3))
    expect(await taskq.backfill('daily', asked)).toMatchObject({ fired: 2 })
    expect((await jobs()).map(({ due }) => due)).toEqual([asked.from, asked.to])
  })

  it('makes payloads by the factory of the definitions', async () => {
    const { payload: _, ...unpaid } = dailyDeliverable
    await (await schedules()).create({ ...unpaid, payloadFactory: 'made' })
    const taskq = await defined(({ dueAt }) => ({ n: dueAt.getTime() }))
    await taskq.backfill('daily', await range(midnight(2), midnight(1)))
    expect((await jobs()).map(({ payload, due }) => (payload as { n: number }).n === due.getTime())).toEqual([
      true,
      true,
    ])
  })

  it('ends where its actor takes no more, says so, and goes on when it is called again', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await database().rows('update taskq.actors set max_pending = 2')
    const asked = await range(midnight(4), midnight(0))
    expect(await taskq.backfill('daily', asked)).toMatchObject({ fired: 2, existing: 0, complete: false })
    await database().rows('update taskq.actors set max_pending = null')
    expect(await taskq.backfill('daily', asked)).toMatchObject({ fired: 3, existing: 2, complete: true })
  })

  it.each([
    ['to', dailyDeliverable, midnight(1), `now() + interval '1 minute'`],
    ['to', dailyDeliverable, midnight(1), midnight(2)],
    ['name', dailyIntent, midnight(2), midnight(1)],
  ] as const)('is refused at %s, and fires nothing', async (field, schedule, from, to) => {
    const taskq = await schedules()
    await taskq.create(schedule as typeof dailyIntent)
    const refused = taskq.backfill('daily', await range(from, to))
    await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID', field })
    expect(await jobs()).toEqual([])
  })
})
