import { describe, expect, it } from 'vitest'
import { dailyDeliverable, dailyIntent, useSchedules } from '../../support/schedule-verbs.ts'
import { addSchedule, fireOnce, midnight } from '../../support/schedules.ts'

const { database, schedules, rowOf, decisions, owingSince, audited } = useSchedules()

const jobs = async () => (await database().rows('select from taskq.jobs')).length
const cursorIs = async (instant: string) =>
  (await database().rows(`select from taskq.schedules where next_fire_at = ${instant}`)).length === 1
const auto = `update taskq.schedules set enabled = false, disabled_by = 'auto', consecutive_failures = 3,
  last_fire_error = 'no', retry_not_before = now() + interval '1 day'`

describe('a pause', () => {
  it('keeps the cursor and what is owed, says so, and nothing fires', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    await owingSince(midnight(2))
    const paused = await taskq.pause('daily', { reason: 'the site is down' })
    expect(paused).toMatchObject({ name: 'daily', changed: true, revision: 1 })
    expect(paused.note).toMatch(
      /^paused; keeps 3 instants from \S+ to \S+ owed, and what falls due meanwhile$/,
    )
    expect(await rowOf()).toMatchObject({ enabled: false, disabled_by: 'operator' })
    expect(await cursorIs(midnight(2))).toBe(true)
    await fireOnce(database())
    expect(await jobs()).toBe(0)
    const [, decision] = await decisions()
    expect(decision).toMatchObject({ action: 'pause', principal: 'application', stands: true })
    expect(decision?.from).toEqual(decision?.to)
    const told = { principal: 'application', action: 'pause_schedule', target: 'daily' }
    expect((await audited()).at(-1)).toEqual({ ...told, reason: 'the site is down' })
  })

  it('twice is once, and of one that failures disabled makes the operator’s', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    await database().rows(auto)
    expect(await taskq.pause('daily')).toMatchObject({ changed: true })
    expect(await rowOf()).toMatchObject({ disabled_by: 'operator', consecutive_failures: 3 })
    expect(await taskq.pause('daily')).toMatchObject({ changed: false })
    expect(await decisions()).toHaveLength(2)
  })
})

describe('a change while a tick fires the schedule', () => {
  it('waits for it, and decides by what it left', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    await owingSince(midnight(2))
    const tick = await database().client()
    await tick.query(`begin; update taskq.schedules set next_fire_at = ${midnight(-1)}`)
    const paused = taskq.pause('daily')
    const waiting = `select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    await expect.poll(() => database().rows(waiting)).toHaveLength(1)
    await tick.query('commit')
    expect((await paused).note).toContain('keeps no instant owed')
    const decision = (await decisions()).at(-1)
    expect(decision).toMatchObject({ action: 'pause', from: decision?.to, stands: true })
  })
})

describe('a resume', () => {
  it('keeps what is owed: the next tick decides by what a missed run means', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await owingSince(midnight(2))
    await taskq.pause('daily')
    const resumed = await taskq.resume('daily')
    expect(resumed.note).toMatch(/^resumed; keeps 3 instants from \S+ to \S+ owed$/)
    expect((await decisions()).at(-1)).toMatchObject({ action: 'resume', stands: true })
    await fireOnce(database())
    expect(await jobs()).toBe(3)
    expect((await decisions()).at(-1)).toMatchObject({ action: 'fire', stands: true })
  })

  it('or drops it, and says from when to when', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    await owingSince(midnight(2))
    await taskq.pause('daily')
    const resumed = await taskq.resume('daily', { missed: 'drop' })
    const [{ first, last, next } = {}] = await database().rows<Record<string, Date>>(
      `select ${midnight(2)} as first, ${midnight(0)} as last, ${midnight(-1)} as next`,
    )
    expect(resumed).toMatchObject({
      nextAt: next,
      note:
        `resumed; drops 3 instants from ${first?.toISOString()} to ${last?.toISOString()}; ` +
        `the next is ${next?.toISOString()}`,
    })
    expect((await decisions()).at(-1)).toMatchObject({ from: first, to: next, stands: true })
    await fireOnce(database())
    expect(await jobs()).toBe(0)
  })

  it('drops what a deliverable owes only with a reason', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await owingSince(midnight(1))
    const refused = taskq.resume('daily', { missed: 'drop' })
    await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'reason' })
    expect(await cursorIs(midnight(1))).toBe(true)
    await taskq.resume('daily', { missed: 'drop', reason: 'sent by hand' })
    expect(await cursorIs(midnight(-1))).toBe(true)
  })

  it('forgets what failed, and of one that is enabled and healthy changes nothing', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    await database().rows(auto)
    expect(await taskq.resume('daily')).toMatchObject({ changed: true })
    const healthy = { enabled: true, disabled_by: null, consecutive_failures: 0, last_fire_error: null }
    expect(await rowOf()).toMatchObject({ ...healthy, retry_not_before: null })
    expect(await taskq.resume('daily')).toMatchObject({ changed: false })
    expect(await taskq.resume('daily', { missed: 'drop' })).toMatchObject({ changed: false })
  })
})

describe('a retire', () => {
  it('ends it for good, and says what it leaves behind', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    await owingSince(midnight(2))
    const retired = await taskq.retire('daily')
    expect(retired).toMatchObject({ changed: true, nextAt: null })
    expect(retired.note).toMatch(/^retired; leaves 3 instants from \S+ to \S+ behind$/)
    expect((await decisions()).at(-1)).toMatchObject({ action: 'retire', to: null, stands: true })
    await fireOnce(database())
    expect(await jobs()).toBe(0)
    expect(await taskq.list()).toEqual([])
    expect(await taskq.list({ retired: true })).toMatchObject([
      { name: 'daily', retiredAt: expect.any(Date) },
    ])
  })

  it('takes a reason where a deliverable owes something, and none where it does not', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await taskq.create({ ...dailyDeliverable, name: 'other' })
    await owingSince(midnight(0))
    const refused = taskq.retire('daily')
    await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'reason' })
    expect(await taskq.retire('daily', { reason: 'the customer left' })).toMatchObject({ changed: true })
    expect(await taskq.retire('other')).toMatchObject({ changed: true })
  })
})

describe('list and get', () => {
  it('say what each is, when it is due, and how it is', async () => {
    const taskq = await schedules()
    const { nextAt } = await taskq.create({ ...dailyIntent, timezone: 'Asia/Tokyo', queue: 'mail' })
    await database().rows(`update taskq.schedules set consecutive_failures = 2, last_fire_error = 'no'`)
    const listed = await taskq.list()
    expect(listed).toEqual([
      {
        id: expect.any(String),
        name: 'daily',
        actor: 'post',
        queue: 'mail',
        recurrence: '0 0 * * *',
        timezone: 'Asia/Tokyo',
        shape: 'intent',
        missed: 'latest',
        onOpen: 'supersede',
        nextAt,
        lastFiredAt: null,
        enabled: true,
        disabledBy: null,
        failures: 2,
        lastError: 'no',
        declared: false,
        revision: 1,
        retiredAt: null,
      },
    ])
    expect(await taskq.get('daily')).toEqual(listed[0])
    expect(await taskq.get('other')).toBeUndefined()
  })

  it('page by the name, a thousand at most', async () => {
    for (const name of ['b', 'a', 'c']) await addSchedule(database(), { name: `'${name}'` })
    const taskq = await schedules()
    const names = async (options: object) => (await taskq.list(options)).map(({ name }) => name)
    expect(await names({ limit: 2 })).toEqual(['a', 'b'])
    expect(await names({ limit: 2, after: 'b' })).toEqual(['c'])
    for (const limit of [0, 1001, 1.5]) {
      await expect(taskq.list({ limit })).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'limit' })
    }
  })
})

describe('a name that is not there, or no longer', () => {
  it.each(['pause', 'resume', 'retire', 'runNow', 'edit', 'backfill'] as const)(
    '%s: SCHEDULE_UNKNOWN',
    async verb => {
      const taskq = await schedules()
      await taskq.create(dailyDeliverable)
      await taskq.retire('daily')
      const range = { from: new Date(0), to: new Date(1) }
      for (const name of ['daily', 'nobody']) {
        const refused = taskq[verb](name, verb === 'backfill' ? range : ({} as never))
        await expect(refused).rejects.toMatchObject({ code: 'SCHEDULE_UNKNOWN', field: 'name' })
      }
      expect(await decisions()).toHaveLength(2)
    },
  )
})
