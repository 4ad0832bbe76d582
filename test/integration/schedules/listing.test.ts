import { afterEach, describe, expect, it } from 'vitest'
import { dailyDeliverable, dailyIntent, useSchedules } from '../../support/schedule-verbs.ts'
import { addSchedule, fireOnce, midnight } from '../../support/schedules.ts'

const { database, schedules, decisions } = useSchedules()

/** Settings of every session to come. */
const settingOfSessions = (change: string) =>
  database().rows(`do $$ begin execute format('alter database %I ${change}', current_database()); end $$`)

describe('an instant that a verb answers', () => {
  afterEach(() => settingOfSessions('reset all'))

  it('is the same whatever a session prints dates like', async () => {
    await settingOfSessions(`set datestyle = ''SQL, DMY''`)
    await settingOfSessions(`set timezone = ''Asia/Kolkata''`)
    const taskq = await schedules()
    const created = await taskq.create(dailyDeliverable)
    const [{ next } = {}] = await database().rows<{ next: Date }>(
      'select next_fire_at as next from taskq.schedules',
    )
    expect(created.nextAt).toEqual(next)
    await database().rows(`update taskq.schedules set last_fired_at = '2026-05-06T07:08:09Z'`)
    const lastFiredAt = new Date('2026-05-06T07:08:09Z')
    expect(await taskq.list()).toMatchObject([{ nextAt: next, lastFiredAt }])
    expect(await taskq.get('daily')).toMatchObject({ nextAt: next, lastFiredAt })
    expect(await taskq.pause('daily')).toMatchObject({ nextAt: next })
    expect(await taskq.resume('daily')).toMatchObject({ nextAt: next })
    expect((await taskq.edit('daily', { payload: { n: 2 } })).nextAt).toEqual(next)
    await taskq.runNow('daily')
    const [job] = await database().rows(
      `select occurrence_due_at between now() - interval '1 hour' and now() as "isNow" from taskq.jobs`,
    )
    expect(job).toEqual({ isNow: true })
    await taskq.retire('daily')
    expect(await taskq.list({ retired: true })).toMatchObject([{ retiredAt: expect.any(Date) }])
  })

  it('is null where the row says infinity, which only a hand writes', async () => {
    for (const [name, at] of [
      ['after-all', 'infinity'],
      ['before-all', '-infinity'],
    ]) {
      await addSchedule(database(), { name: `'${name}'`, next_fire_at: `'${at}'` })
    }
    await database().rows(`update taskq.schedules set last_fired_at = next_fire_at`)
    const taskq = await schedules()
    const none = { nextAt: null, lastFiredAt: null }
    expect(await taskq.list()).toMatchObject([none, none])
    for (const name of ['after-all', 'before-all']) {
      expect(await taskq.get(name)).toMatchObject(none)
      expect((await taskq.explain(name)).words.at(-1)).toBe('It owes no instant; the next is never.')
      expect(await taskq.simulate(name, { until: new Date('2031-01-01') })).toMatchObject({ decisions: [] })
      expect(await taskq.pause(name)).toMatchObject({ nextAt: null })
      expect((await taskq.edit(name, { cron: '@hourly' })).nextAt).toEqual(expect.any(Date))
    }
  })
})

describe('what a verb leaves behind', () => {
  const behind = async () => {
    const [last] = await database().rows(
      `select action, missed::int, missed_from = ${midnight(2)} as "first",
         missed_to = ${midnight(0)} as "last"
       from taskq.schedule_decisions order by id desc limit 1`,
    )
    return last
  }

  it.each([
    ['retire', (taskq: Verbs) => taskq.retire('daily', { reason: 'over' })],
    ['resume', (taskq: Verbs) => taskq.resume('daily', { missed: 'drop', reason: 'over' })],
  ])('%s: a count and a range of its decision', async (action, drop) => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await taskq.pause('daily')
    await owing()
    await drop(taskq)
    expect(await behind()).toEqual({ action, missed: 3, first: true, last: true })
  })

  it('is nothing where it keeps what is owed, or nothing is owed', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    await owing()
    await taskq.pause('daily')
    await taskq.resume('daily')
    await taskq.edit('daily', { payload: { n: 2 } })
    await fireOnce(database())
    await taskq.retire('daily')
    const rows = await database().rows(
      `select action, missed::int, missed_from as first from taskq.schedule_decisions
       where action <> 'fire' and (missed > 0 or missed_from is not null or missed_to is not null)`,
    )
    expect(rows).toEqual([])
    expect((await decisions()).at(-1)).toMatchObject({ action: 'retire' })
  })
})

describe('an edit that takes back that each instant is owed', () => {
  const toIntent = { intent: { missed: 'latest', onOpen: 'supersede' } } as const

  it('takes a reason where something is owed, and none where nothing is', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await taskq.create({ ...dailyDeliverable, name: 'other' })
    await owing()
    const refused = taskq.edit('daily', toIntent)
    await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'reason' })
    expect(await decisions()).toHaveLength(1)
    const edited = await taskq.edit('daily', toIntent, { reason: 'they want only the newest' })
    expect(edited.note).toContain('keeps 3 instants')
    expect(await taskq.edit('other', toIntent)).toMatchObject({ changed: true })
  })
})

type Verbs = Awaited<ReturnType<typeof schedules>>

function owing() {
  return database().rows(
    `update taskq.schedules set next_fire_at = ${midnight(2)}, revised_at = ${midnight(2)} - interval '1 year'
     where name = 'daily'`,
  )
}
