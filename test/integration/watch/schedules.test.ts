import { beforeEach, describe, expect, it } from 'vitest'
import { readSchedules } from '../../../shared/sweeper/status/statements.ts'
import { useDatabase } from '../../support/database.ts'
import { insertJobs, type JobColumns } from '../../support/jobs.ts'
import { insertRows } from '../../support/rows.ts'
import { addSchedule, scheduleOf } from '../../support/schedules.ts'
import { watched } from '../../support/sweeping.ts'
import { ago, retriedJob, statusOnce, unclaimedJob, watchOnce } from '../../support/watching.ts'

const database = useDatabase()

beforeEach(() =>
  database().rows('truncate taskq.jobs, taskq.queues, taskq.schedules, taskq.schedule_decisions cascade'),
)

const withLimit = (name: string, limit: string) =>
  addSchedule(database(), { name: `'${name}'`, max_unclaimed_age: `interval '${limit}'` })
const jobOf = (schedule: string, age: string, columns: JobColumns = {}) =>
  insertJobs(database(), unclaimedJob(age, { schedule_id: `'${schedule}'`, ...columns }))
const pause = (queue: string) =>
  database().rows('insert into taskq.queues (name, paused_at) values ($1, now())', [queue])
const nobody = '0197c6a5-4d1e-7c58-9a3f-6f8f4f2c9d10'

describe('a job of a schedule that nobody has ever claimed', () => {
  it('is held to the limit of its schedule, whatever its queue’s is', async () => {
    const patient = await withLimit('patient', '48 hours')
    const strict = await withLimit('strict', '1 minute')
    await jobOf(patient, '47 hours')
    await jobOf(strict, '2 minutes')
    const { gauges, worst } = await watchOnce(database())
    expect(gauges).toMatchObject({ UnclaimedOverLimit: 1 })
    expect(gauges['OldestUnclaimedAgeSeconds']).toBeGreaterThanOrEqual(47 * 3600)
    expect(worst['UnclaimedOverLimit']).toEqual([
      { queue: 'default', schedule: 'strict', ageSeconds: expect.any(Number), limitSeconds: 60 },
    ])
    expect(worst['OldestUnclaimedAgeSeconds']?.map(({ schedule }) => schedule)).toEqual(['patient', 'strict'])
    const { queues } = await statusOnce(database())
    expect(queues).toMatchObject([{ queue: 'default', oldestUnclaimedAgeSeconds: null, overLimit: false }])
  })

  it('counts beside the other jobs of its queue, each schedule once, the oldest first', async () => {
    const one = await withLimit('one', '1 hour')
    const other = await withLimit('other', '1 hour')
    for (const age of ['2 hours', '3 hours', '4 hours']) await jobOf(one, age)
    await jobOf(one, '9 hours', { queue: `'elsewhere'` })
    await jobOf(other, '6 hours')
    await insertJobs(database(), unclaimedJob('5 hours'), 2)
    const { gauges, worst } = await watchOnce(database())
    expect(gauges).toMatchObject({ UnclaimedOverLimit: 3 })
    expect(worst['UnclaimedOverLimit']?.map(({ queue, schedule }) => [queue, schedule])).toEqual([
      ['elsewhere', 'one'],
      ['default', 'other'],
      ['default', undefined],
    ])
  })

  it('is its queue’s where its schedule has no row any more', async () => {
    await jobOf(nobody, '20 minutes')
    await jobOf(nobody, '20 minutes', { queue: `'patient'` })
    await database().rows(`insert into taskq.queues (name, max_unclaimed_age) values ('patient', '1 hour')`)
    await insertJobs(database(), unclaimedJob('16 minutes'))
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['UnclaimedOverLimit'], 'the queue counts once').toBe(1)
    expect(worst['UnclaimedOverLimit']).toMatchObject([{ queue: 'default', limitSeconds: 900 }])
    expect(worst['UnclaimedOverLimit']?.[0]?.['ageSeconds']).toBeGreaterThanOrEqual(1200)
    await database().rows('delete from taskq.jobs where schedule_id is null')
    const { healthy, queues } = await statusOnce(database())
    expect(healthy).toBe(false)
    expect(queues?.map(({ queue, overLimit }) => [queue, overLimit])).toEqual([
      ['default', true],
      ['patient', false],
    ])
  })

  it('owes nothing in a paused queue, and does in another', async () => {
    await pause('held')
    const all = await withLimit('all held', '1 hour')
    const some = await withLimit('some held', '1 hour')
    await jobOf(all, '9 hours', { queue: `'held'` })
    await jobOf(some, '8 hours', { queue: `'held'` })
    await jobOf(some, '2 hours')
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['UnclaimedOverLimit']).toBe(1)
    expect(worst['OldestUnclaimedAgeSeconds']).toMatchObject([{ queue: 'default', schedule: 'some held' }])
    expect(gauges['OldestUnclaimedAgeSeconds']).toBeLessThan(3 * 3600)
    const { schedules } = await statusOnce(database())
    expect(schedules?.map(({ name, overLimit }) => [name, overLimit])).toEqual([
      ['some held', true],
      ['all held', false],
    ])
    expect(schedules?.[1]?.oldestUnclaimedAgeSeconds).toBeGreaterThanOrEqual(9 * 3600)
  })

  it('is counted no more once it was claimed', async () => {
    await insertJobs(
      database(),
      retriedJob('9 days', { schedule_id: `'${await withLimit('x', '1 minute')}'` }),
    )
    expect((await watchOnce(database())).gauges).toMatchObject({ UnclaimedOverLimit: 0 })
  })
})

describe('a schedule in the status', () => {
  it('shows its definition, its cursor and its oldest unclaimed job', async () => {
    const id = await addSchedule(database(), { name: `'daily-post'`, last_fired_at: ago('1 day') })
    await jobOf(id, '5 minutes')
    const status = await statusOnce(database())
    expect(status).toMatchObject({ healthy: true, degraded: false, reasons: [] })
    expect(status.schedules).toEqual([
      {
        name: 'daily-post',
        actor: 'post',
        enabled: true,
        disabledBy: null,
        degraded: false,
        nextFireAt: expect.any(Date),
        lastFiredAt: expect.any(Date),
        consecutiveFailures: 0,
        lastFireError: null,
        deferredSince: null,
        oldestUnclaimedAgeSeconds: expect.any(Number),
        unclaimedLimitSeconds: 48 * 3600,
        overLimit: false,
      },
    ])
  })

  it('over its limit makes the queue unhealthy, though it is retired', async () => {
    const id = await withLimit('daily-post', '48 hours')
    await jobOf(id, '50 hours')
    await database().rows(
      `update taskq.schedules set retired_at = now(), enabled = false, disabled_by = 'auto'`,
    )
    const { healthy, degraded, reasons } = await statusOnce(database())
    expect({ healthy, degraded }).toEqual({ healthy: false, degraded: false })
    expect(reasons).toEqual([
      'schedule daily-post: its oldest unclaimed job is due for 50 h, and may wait 48 h',
    ])
    await database().rows('truncate taskq.jobs cascade')
    expect((await statusOnce(database())).schedules).toEqual([])
  })

  it('that cannot be read leaves unknown whether the queue is healthy', async () => {
    const connect = async () =>
      watched(await database().connect(), (_, [statement]) => {
        if (statement === readSchedules) throw new Error('too slow')
      })
    const { healthy, schedules, reasons } = await statusOnce(database(), {}, connect)
    expect({ healthy, schedules }).toEqual({ healthy: false, schedules: null })
    expect(reasons).toEqual(['schedules: cannot be read: too slow'])
  })

  it('that strikes have switched off is degraded, and its gauge says why and since when', async () => {
    const off = { enabled: 'false', consecutive_failures: '5', last_fire_error: `'no such tenant'` }
    const auto = await addSchedule(database(), { ...off, name: `'struck'`, disabled_by: `'auto'` })
    await addSchedule(database(), { ...off, disabled_by: `'operator'` })
    await addSchedule(database(), { ...off, disabled_by: `'auto'`, retired_at: 'now()' })
    await database().rows(
      `insert into taskq.schedule_decisions (schedule_id, revision, decided_at, action)
       values ($1, 1, ${ago('2 days')}, 'disable'), ($1, 1, ${ago('1 hour')}, 'disable'),
         ($1, 1, ${ago('1 minute')}, 'edit')`,
      [auto],
    )
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['SchedulesDisabled']).toBe(1)
    expect(worst['SchedulesDisabled']).toEqual([
      {
        schedule: 'struck',
        actor: 'post',
        failures: 5,
        error: 'no such tenant',
        ageSeconds: expect.closeTo(3600, -2),
      },
    ])
    const status = await statusOnce(database())
    expect(status).toMatchObject({ healthy: true, degraded: true })
    expect(status.reasons).toEqual([
      'schedule struck: is switched off after 5 failures in a row: no such tenant',
    ])
  })

  it('that is put off is degraded while it is on', async () => {
    const columns = { deferred_since: `'2026-03-01 03:00Z'`, last_fire_error: `'no room'` }
    await addSchedule(database(), { ...columns, name: `'busy'` })
    await addSchedule(database(), { ...columns, enabled: 'false', disabled_by: `'operator'` })
    const { degraded, reasons } = await statusOnce(database())
    expect({ degraded, reasons }).toEqual({
      degraded: true,
      reasons: ['schedule busy: is put off since 2026-03-01T03:00:00.000Z: no room'],
    })
  })

  it.each(['infinity', '-infinity', '294276-01-01'])('may hold %s, which is told as none', async instant => {
    const at = `'${instant}'::timestamptz`
    await addSchedule(database(), { next_fire_at: at, last_fired_at: at, deferred_since: at })
    const { schedules, reasons } = await statusOnce(database())
    expect(schedules).toMatchObject([{ nextFireAt: null, lastFiredAt: null, deferredSince: null }])
    expect(reasons).toEqual([expect.stringMatching(/: is put off$/)])
  })

  it('is one of many: those not well come first, and the first fifty give their reasons', async () => {
    const struck = { enabled: `n <= 60`, disabled_by: `case when n > 60 then 'auto' end` }
    await insertRows(
      database(),
      'schedules',
      { ...scheduleOf, name: `'s' || lpad(n::text, 3, '0')`, ...struck },
      120,
    )
    const { schedules, reasons } = await statusOnce(database())
    expect(schedules).toHaveLength(120)
    expect(schedules?.slice(59, 61).map(({ name }) => name)).toEqual(['s120', 's001'])
    expect(reasons).toHaveLength(51)
    expect(reasons[50]).toBe('and 10 more schedules like it')
  })
})
