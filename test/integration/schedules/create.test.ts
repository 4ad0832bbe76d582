import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { defineActor, defineSchedule } from '../../../functions/entry/client.ts'
import { dailyDeliverable, dailyIntent, useSchedules } from '../../support/schedule-verbs.ts'
import { addSchedule } from '../../support/schedules.ts'

const { database, schedules, rowOf, decisions, audited } = useSchedules()

const stored = async () => {
  const [counts] = await database().rows(`select (select count(*)::int from taskq.schedules) as schedules,
    (select count(*)::int from taskq.schedule_revisions) as revisions,
    (select count(*)::int from taskq.schedule_decisions) as decisions,
    (select count(*)::int from taskq.actors) as actors`)
  return counts
}

describe('create', () => {
  it('stores the definition, its first revision, its decision and who did it', async () => {
    const startAt = new Date('2030-01-01T00:00:00.001Z')
    const endAt = new Date('2031-01-01T00:00:00Z')
    const more = { queue: 'mail', timezone: 'Europe/Berlin', smear: '1h', startAt, endAt } as const
    const created = await (await schedules()).create({ ...dailyIntent, ...more, maxUnclaimedAge: '90m' })
    expect(created).toMatchObject({ name: 'daily', changed: true, revision: 1 })
    const row = await rowOf()
    expect(row).toMatchObject({
      actor: 'post',
      queue: 'mail',
      recurrence: '0 0 * * *',
      timezone: 'Europe/Berlin',
      start_at: startAt,
      end_at: endAt,
      smear: { hours: 1 },
      payload: { n: 1 },
      payload_factory: null,
      max_unclaimed_age: { hours: 1, minutes: 30 },
      age_follows_period: false,
      declared: false,
      enabled: true,
      next_fire_at: created.nextAt,
      last_fired_at: null,
    })
    // Midnight in Berlin, and the schedule's own part of the smear.
    const afterMidnightMs = (row['next_fire_at'] as Date).getTime() - Date.UTC(2030, 0, 1, 23)
    expect(afterMidnightMs).toBeGreaterThanOrEqual(0)
    expect(afterMidnightMs).toBeLessThan(3_600_000)
    expect(await decisions()).toMatchObject([
      { action: 'create', revision: 1, principal: 'application', from: null, stands: true },
    ])
    expect(await audited()).toEqual([
      { principal: 'application', action: 'create_schedule', target: 'daily', reason: null },
    ])
    const [revision] = await database().rows(`select definition, revised_at from taskq.schedule_revisions`)
    expect(revision).toMatchObject({
      definition: { recurrence: '0 0 * * *', smear: '01:00:00', shape: 'intent', payload: { n: 1 } },
      revised_at: row['revised_at'],
    })
  })

  it('first fires at the first instant from the database’s now on, not before', async () => {
    await (await schedules()).create(dailyIntent)
    const [due] = await database().rows(
      `select next_fire_at = 
         date_trunc('day', revised_at - interval '1 ms', 'UTC') + interval '1 day' as first
       from taskq.schedules`,
    )
    expect(due).toEqual({ first: true })
  })

  it.each([
    ['0 0 * * *', 48],
    ['0 0 * * 1-5', 144],
    ['@hourly', 2],
  ])('pages after two of the longest periods where nobody says when: %s', async (cron, hours) => {
    await (await schedules()).create({ ...dailyIntent, cron })
    const [row] = await database().rows(
      `select extract(epoch from max_unclaimed_age)::int / 3600 as hours, age_follows_period as follows
       from taskq.schedules`,
    )
    expect(row).toEqual({ hours, follows: true })
  })

  it('makes the actor known whose definition it has, and leaves one that is known as it is', async () => {
    const taskq = await schedules()
    const other = defineActor({ name: 'post', queue: 'elsewhere', payload: z.any() })
    await taskq.create(dailyIntent)
    await taskq.create({ ...dailyIntent, name: 'other', actor: other })
    await taskq.create({ ...dailyIntent, name: 'named', actor: 'post', payload: 'anything' })
    expect(await database().rows('select actor, queue from taskq.actors')).toEqual([
      { actor: 'post', queue: 'default' },
    ])
  })

  it('takes what defineSchedule returned, and keeps a payload of null', async () => {
    const any = defineActor({ name: 'any', payload: z.any() })
    await (await schedules()).create(defineSchedule({ ...dailyDeliverable, actor: any, payload: null }))
    expect(await database().rows(`select payload::text, missed, on_open from taskq.schedules`)).toEqual([
      { payload: 'null', missed: 'all', on_open: 'add' },
    ])
  })

  it('of a retired name gives the same schedule another life', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    const before = await rowOf()
    await taskq.retire('daily')
    expect(await taskq.create({ ...dailyDeliverable, payload: { n: 2 } })).toMatchObject({ revision: 2 })
    expect(await rowOf()).toMatchObject({ id: before['id'], shape: 'deliverable', retired_at: null })
    expect(await decisions()).toMatchObject([
      { action: 'create' },
      { action: 'retire' },
      { action: 'create', revision: 2, from: null, stands: true },
    ])
  })

  it('twenty at once: one creates it, the others are told that it exists', async () => {
    const taskq = await schedules()
    const all = await Promise.allSettled(Array.from({ length: 20 }, () => taskq.create(dailyIntent)))
    const refused = all.flatMap(each => (each.status === 'rejected' ? [each.reason] : []))
    expect(refused).toHaveLength(19)
    for (const error of refused) expect(error).toMatchObject({ code: 'SCHEDULE_EXISTS', field: 'name' })
    expect(await stored()).toEqual({ schedules: 1, revisions: 1, decisions: 1, actors: 1 })
  })
})

describe('a create that is refused stores nothing', () => {
  const cases: [string, string, object][] = [
    ['SCHEDULE_EXISTS', 'name', { name: 'there' }],
    ['ACTOR_UNKNOWN', 'actor', { actor: 'stranger' }],
    ['PAYLOAD_INVALID', 'payload.n', { payload: { n: 'x' } }],
    ['PAYLOAD_INVALID', 'payload', { payload: 1n }],
    ['PAYLOAD_TOO_LARGE', 'payload', { actor: 'post', payload: 'x'.repeat(2_000_000) }],
    ['TEXT_INVALID', 'payload', { actor: 'post', payload: 'a\u0000b' }],
    ['OPTION_INVALID', 'endAt', { endAt: new Date(86_400_000) }],
    ['OPTION_INVALID', 'cron', { cron: '0 0 0 1 1 * 2020' }],
    ['OPTION_INVALID', 'maxUnclaimedAge', { cron: '0 0 0 1 1 * 2099' }],
    ['OPTION_INVALID', 'timezone', { timezone: 'Nowhere' }],
    ['OPTION_INVALID', 'intent', { intent: undefined }],
    ['OPTION_INVALID', 'enabled', { enabled: false }],
  ]
  it.each(cases)('%s at %s', async (code, field, more) => {
    await addSchedule(database(), { name: `'there'` })
    const before = await stored()
    const refused = (await schedules()).create({ ...dailyIntent, ...more } as never)
    await expect(refused).rejects.toMatchObject({ code, field })
    expect(await stored()).toEqual(before)
  })

  it('LOCK_TIMEOUT while somebody else creates the name', async () => {
    const other = await database().client()
    await other.query(`begin; insert into taskq.schedules (name, actor, recurrence, shape, missed, on_open,
      payload, max_unclaimed_age)
      values ('daily', 'post', '@daily', 'deliverable', 'all', 'add', '1', '1 day')`)
    const taskq = await schedules({ cronTickTimeoutMs: 500 })
    await expect(taskq.create(dailyIntent)).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    await other.query('rollback')
    expect(await taskq.create(dailyIntent)).toMatchObject({ changed: true })
  })
})
