import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { defineActor, defineSchedule, type ScheduleOptions } from '../../../functions/entry/client.ts'
import type { Settings } from '../../../shared/core/read-settings.ts'
import { syncDefinitions } from '../../../shared/schedules/verbs/sync-definitions.ts'
import { dailyIntent, post, useSchedules } from '../../support/schedule-verbs.ts'
import { midnight } from '../../support/schedules.ts'
import { settingsWith } from '../../support/sweeping.ts'

const { database, schedules: verbs, rowOf, decisions } = useSchedules()

const daily = { ...dailyIntent, cron: '0 7 * * *' } as const

const schedule = (changed: Partial<ScheduleOptions> = {}) =>
  defineSchedule({ ...daily, ...changed } as ScheduleOptions)

const sync = async (schedules: unknown, more: object = {}, settings: Partial<Settings> = {}) => {
  const definitions = { actors: [post], schedules, ...more }
  return syncDefinitions(await database().connect(), definitions, settingsWith(settings), 'ada@laptop')
}
const syncSchedules = async (...args: Parameters<typeof sync>) => (await sync(...args)).schedules

const nothing = {
  created: [],
  revised: [],
  unchanged: 0,
  drifted: [],
  enabled: [],
  retired: [],
  undeclared: [],
}

describe('sync', () => {
  it('creates what is declared, with its first instant, its revision and its decision', async () => {
    expect(await sync([schedule()])).toEqual({
      schema: 'taskq',
      created: ['post'],
      changed: [],
      unchanged: 0,
      schedules: { ...nothing, created: ['daily'] },
    })
    expect(await rowOf()).toMatchObject({
      actor: 'post',
      recurrence: '0 7 * * *',
      timezone: 'UTC',
      shape: 'intent',
      missed: 'latest',
      on_open: 'supersede',
      payload: { n: 1 },
      max_unclaimed_age: { hours: 48 },
      age_follows_period: true,
      declared: true,
      enabled: true,
      revision: 1,
    })
    expect(await decisions()).toMatchObject([{ action: 'create', principal: 'ada@laptop', stands: true }])
    const [due] = await database().rows(
      `select next_fire_at
         = date_trunc('day', revised_at - interval '7 hours', 'UTC') + interval '31 hours' as first
       from taskq.schedules`,
    )
    expect(due).toEqual({ first: true })
    expect(await database().rows('select revision, declared from taskq.schedule_revisions')).toEqual([
      { revision: 1, declared: true },
    ])
  })

  it('of what is as declared changes nothing, not even under an unstable period', async () => {
    const uneven = schedule({ name: 'uneven', cron: '0 7 * * *', timezone: 'Europe/Berlin' })
    await sync([schedule(), uneven])
    await database().rows(`update taskq.schedules set max_unclaimed_age = '50 hours' where name = 'uneven';
      update taskq.schedule_revisions set definition = definition || '{"max_unclaimed_age": "50:00:00"}'
      where schedule_id = (select id from taskq.schedules where name = 'uneven')`)
    const before = await database().rows('select xmin::text, revision from taskq.schedules order by name')
    expect(await syncSchedules([schedule(), uneven])).toEqual({ ...nothing, unchanged: 2 })
    expect(await database().rows('select xmin::text, revision from taskq.schedules order by name')).toEqual(
      before,
    )
  })

  it('revises what is declared otherwise, and keeps what is owed', async () => {
    await sync([schedule()])
    const owedSince = `${midnight(3)} + interval '7 hours'`
    await database().rows(`update taskq.schedules set next_fire_at = ${owedSince}, consecutive_failures = 2,
      last_fire_error = 'no', retry_not_before = now(), revised_at = now() - interval '9 days';
      update taskq.schedule_revisions set revised_at = now() - interval '9 days'`)
    const report = await syncSchedules([schedule({ cron: '0 8 * * *' })])
    expect(report).toEqual({ ...nothing, revised: ['daily'] })
    expect(await rowOf()).toMatchObject({ recurrence: '0 8 * * *', revision: 2, retry_not_before: null })
    const [, edit] = await decisions()
    expect(edit).toMatchObject({ action: 'edit', stands: true })
    expect(edit?.note).toMatch(/changed recurrence; keeps [34] instants from/)
  })

  it('brings back what was edited by hand, and names it', async () => {
    await sync([schedule()])
    const taskq = await verbs()
    await taskq.edit('daily', { timezone: 'Asia/Tokyo', payload: { n: 2 } })
    expect(await rowOf()).toMatchObject({ declared: true })
    expect(await syncSchedules([schedule()])).toEqual({
      ...nothing,
      drifted: [{ name: 'daily', fields: ['timezone', 'payload'] }],
    })
    expect(await rowOf()).toMatchObject({ timezone: 'UTC', payload: { n: 1 }, revision: 3 })
    await database().rows(`update taskq.schedules set max_unclaimed_age = '1 hour'`)
    expect(await syncSchedules([schedule()])).toMatchObject({ drifted: [{ fields: ['maxUnclaimedAge'] }] })
    expect(await syncSchedules([schedule()])).toEqual({ ...nothing, unchanged: 1 })
  })

  it('takes over what was made by hand, which is no drift', async () => {
    const taskq = await verbs()
    await taskq.create({ ...daily, payload: { n: 7 } })
    expect(await rowOf()).toMatchObject({ declared: false })
    expect(await syncSchedules([schedule()])).toEqual({ ...nothing, revised: ['daily'] })
    expect(await rowOf()).toMatchObject({ declared: true, payload: { n: 1 } })
    // What was mended by hand first, and then declared so, is declared: the next definition finds no drift.
    await taskq.edit('daily', { cron: '0 8 * * *' })
    const mended = schedule({ cron: '0 8 * * *' })
    expect(await syncSchedules([mended])).toEqual({ ...nothing, revised: ['daily'] })
    expect(await syncSchedules([mended])).toEqual({ ...nothing, unchanged: 1 })
    expect(await syncSchedules([schedule()])).toEqual({ ...nothing, revised: ['daily'] })
  })

  it('runs on, and names, what no definition declares any more', async () => {
    const taskq = await verbs()
    await taskq.create({ ...daily, name: 'by hand' })
    await sync([schedule(), schedule({ name: 'other' })])
    expect(await syncSchedules({ other: schedule({ name: 'other' }) })).toEqual({
      ...nothing,
      unchanged: 1,
      undeclared: ['daily'],
    })
    expect(await syncSchedules(undefined)).toEqual({ ...nothing, undeclared: ['daily', 'other'] })
    expect(await rowOf()).toMatchObject({ enabled: true, declared: true })
  })

  it('enables again what failures disabled, and leaves what was paused or retired (B161)', async () => {
    const all = ['failed', 'paused', 'retired', 'revised'].map(name => schedule({ name }))
    await sync(all)
    await database().rows(`update taskq.schedules set enabled = false, disabled_by = 'auto',
      consecutive_failures = 3, last_fire_error = 'no' where name in ('failed', 'revised')`)
    const taskq = await verbs()
    await taskq.pause('paused')
    await taskq.retire('retired')
    const again = [...all.slice(0, 3), schedule({ name: 'revised', cron: '0 9 * * *' })]
    expect(await syncSchedules(again)).toEqual({
      ...nothing,
      unchanged: 2,
      revised: ['revised'],
      enabled: ['failed', 'revised'],
      retired: ['retired'],
    })
    const enabled = { enabled: true, disabled_by: null, consecutive_failures: 0, last_fire_error: null }
    expect(await rowOf('failed')).toMatchObject(enabled)
    expect(await rowOf('revised')).toMatchObject(enabled)
    expect(await rowOf('paused')).toMatchObject({ enabled: false, disabled_by: 'operator' })
    expect(await rowOf('retired')).toMatchObject({ next_fire_at: null, retired_at: expect.any(Date) })
    expect((await decisions('failed')).at(-1)).toMatchObject({ action: 'resume', stands: true })
    await taskq.create({ ...daily, name: 'retired' })
    expect(await rowOf('retired')).toMatchObject({ retired_at: null, enabled: true })
  })

  it('ten times at once stores each schedule once, and nobody fails', async () => {
    const all = Array.from({ length: 20 }, (_, index) => schedule({ name: `s${index}` }))
    await Promise.all(Array.from({ length: 10 }, () => sync(all)))
    const [counts] = await database().rows(`select
      (select count(*)::int from taskq.schedules) as schedules,
      (select count(*)::int from taskq.schedule_revisions) as revisions,
      (select count(*)::int from taskq.schedule_decisions) as decisions`)
    expect(counts).toEqual({ schedules: 20, revisions: 20, decisions: 20 })
  })

  it('stores more than one statement takes', async () => {
    const all = Array.from({ length: 501 }, (_, index) => schedule({ name: `s${index}` }))
    expect(await syncSchedules(all)).toMatchObject({ unchanged: 0, created: { length: 501 } })
    expect(await syncSchedules(all)).toEqual({ ...nothing, unchanged: 501 })
  })
})

describe('a sync that is refused writes nothing, no actor either', () => {
  const stranger = defineActor({ name: 'stranger', payload: z.any() })
  const twice = [schedule(), schedule()]
  it.each([
    ['ACTOR_UNKNOWN', 'actor', [schedule(), schedule({ name: 'other', actor: stranger, payload: {} })], {}],
    ['PAYLOAD_INVALID', 'schedules "daily" payload.n', [schedule({ payload: { n: 'x' } })], {}],
    ['OPTION_INVALID', 'schedules[1]', twice, {}],
    ['OPTION_INVALID', 'schedules', 'daily', {}],
    ['OPTION_INVALID', 'schedules[0]', [null], {}],
    ['OPTION_INVALID', 'schedules.a.onOpen', { a: { ...daily, onOpen: 'skip' } }, {}],
    ['OPTION_INVALID', 'schedules[0].intent.onOpen', [{ ...daily, intent: { missed: 'skip' } }], {}],
    [
      'OPTION_INVALID',
      'schedules "daily" payloadFactory',
      [
        defineSchedule({
          name: 'daily',
          actor: post,
          cron: '0 7 * * *',
          deliverable: {},
          payloadFactory: 'none',
        }),
      ],
      { payloadFactories: { other: () => ({ n: 1 }) } },
    ],
  ])('%s at %s', async (code, field, schedules, more) => {
    await expect(sync(schedules, more)).rejects.toMatchObject({ code, field })
    expect(await database().rows('select from taskq.schedules union all select from taskq.actors')).toEqual(
      [],
    )
  })

  it('WRONG_TARGET at another installation', async () => {
    const pinned = { installationId: randomUUID() }
    await expect(sync([schedule()], {}, pinned)).rejects.toMatchObject({ code: 'WRONG_TARGET' })
    expect(await database().rows('select from taskq.schedules')).toEqual([])
  })

  it('LOCK_TIMEOUT while another transaction holds a schedule', async () => {
    await sync([schedule()])
    const holder = await database().client()
    await holder.query('begin; select from taskq.schedules for update')
    await expect(sync([schedule()], {}, { batchLockTimeoutMs: 10 })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      message: expect.stringContaining('schedules'),
    })
    await holder.query('commit')
  })
})
