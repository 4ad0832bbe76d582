import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TaskQClient } from '../../../functions/entry/client.ts'
import { generatedCrons, writtenCrons } from '../../support/recurrences.ts'
import { dailyDeliverable, dailyIntent, post, useSchedules } from '../../support/schedule-verbs.ts'
import { fireOnce, midnight } from '../../support/schedules.ts'
import { seed } from '../../support/seed.ts'

const { database, schedules, rowOf, decisions, owingSince } = useSchedules()

type Schedules = TaskQClient['schedules']

const settings = { cronMaxCatchUp: 7, cronLatenessTolerance: 40 * 60_000 }

/** Schedules of every kind, each with how long nobody came for it, in minutes. */
const outages = fc.record({
  recurrence: fc.oneof(
    fc
      .constantFrom(...writtenCrons.map(({ recurrence }) => recurrence))
      .filter(text => text.split(' ').length === 5),
    generatedCrons,
    fc.integer({ min: 7, max: 900 }).map(minutes => `every ${minutes}m`),
  ),
  timezone: fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
  smear: fc.constantFrom('0', '0', '45m'),
  answers: fc.constantFrom(
    { deliverable: {} },
    ...(['latest', 'skip'] as const).flatMap(missed =>
      (['supersede', 'skip'] as const).map(onOpen => ({ intent: { missed, onOpen } })),
    ),
  ),
  minutes: fc.oneof(fc.integer({ min: 0, max: 90 }), fc.integer({ min: 0, max: 60 * 24 * 3 })),
})

/** What a simulation says, and what a tick wrote, in the same words. */
interface Decided {
  readonly from: Date
  readonly to: Date | null
  readonly fires: number
  readonly missed: number
  readonly missedFrom: Date | null
  readonly missedTo: Date | null
}

async function simulated(taskq: Schedules, name: string, until: Date): Promise<Decided[]> {
  const { decisions: all } = await taskq.simulate(name, { until })
  return all.map(({ cursorFrom: from, cursorTo: to, fires, missed, missedFrom, missedTo }) => ({
    from,
    to,
    fires: fires.length,
    missed,
    missedFrom,
    missedTo,
  }))
}

const decidedOf = (name: string) =>
  database().rows<Decided & { at: Date }>(
    `select d.decided_at as at, d.cursor_from as from, d.cursor_to as to, d.fired + d.skipped as fires,
       d.missed::int, d.missed_from as "missedFrom", d.missed_to as "missedTo"
     from taskq.schedule_decisions d join taskq.schedules s on s.id = d.schedule_id
     where s.name = $1 and d.action = 'fire' order by d.id`,
    [name],
  )

describe('simulate', () => {
  it('says of any outage what the ticks then decide', async () => {
    const taskq = await schedules(settings)
    const cases = fc.sample(outages, { seed, numRuns: 120 })
    for (const [index, { recurrence, answers, minutes, ...rest }] of cases.entries()) {
      const when = recurrence.startsWith('every ') ? { every: recurrence.slice(6) } : { cron: recurrence }
      const name = `s${index}`
      const terms = {
        name,
        actor: post,
        payload: { n: 1 },
        maxUnclaimedAge: '1d',
        ...rest,
        ...when,
        ...answers,
      }
      await taskq.create(terms as never)
      await owingSince(`date_trunc('minute', now()) - interval '${minutes} minutes'`, name)
    }
    const now = async () => {
      const [row] = await database().rows<{ now: Date }>('select clock_timestamp() as now')
      return row?.now as Date
    }
    const before = await now()
    const said = new Map<string, Decided[]>()
    for (const [index] of cases.entries()) {
      said.set(`s${index}`, await simulated(taskq, `s${index}`, before))
    }
    // Their cursors, to be asked once more as of the end.
    const kept = await database().rows('select * from taskq.schedules')
    await fireOnce(database(), { settings: { ...settings, cronTickLimit: 50 } })
    const decided = new Map<string, Decided[]>()
    for (const name of said.keys())
      decided.set(
        name,
        (await decidedOf(name)).map(({ at: _, ...rest }) => rest),
      )
    const after = await now()
    await database().rows(
      `update taskq.schedules s set next_fire_at = k.next_fire_at
       from jsonb_to_recordset($1) as k (id uuid, next_fire_at timestamptz) where k.id = s.id`,
      [JSON.stringify(kept)],
    )
    let compared = 0
    for (const [name, one] of said) {
      // An instant that fell due between the two is no matter of the simulation's.
      if (JSON.stringify(await simulated(taskq, name, after)) !== JSON.stringify(one)) continue
      compared += 1
      expect({
        name,
        ...cases[Number(name.slice(1))],
        decided: decided.get(name)?.slice(0, one.length),
      }).toEqual({
        name,
        ...cases[Number(name.slice(1))],
        decided: one,
      })
    }
    expect(compared).toBeGreaterThan(cases.length / 2)
  })

  it('names the instants, and what meets the one that is open', async () => {
    const taskq = await schedules({ cronMaxCatchUp: 2 })
    await taskq.create(dailyIntent)
    await taskq.create({ ...dailyDeliverable, name: 'owed' })
    await taskq.create({ ...dailyIntent, name: 'skips', intent: { missed: 'latest', onOpen: 'skip' } })
    const from = new Date('2030-03-01T12:00:00Z')
    const until = new Date('2030-03-04T12:00:00Z')
    const day = (date: number) => new Date(Date.UTC(2030, 2, date))
    const behind = { missed: 2, missedFrom: day(2), missedTo: day(3) }
    const intent = { at: until, fires: [day(4)], ...behind, cursorFrom: day(2), cursorTo: day(5) }
    expect(await taskq.simulate('daily', { from, until })).toEqual({
      name: 'daily',
      enabled: true,
      decisions: [{ ...intent, onOpen: null }],
      left: 0,
    })
    await taskq.runNow('daily')
    await taskq.runNow('skips')
    await taskq.pause('skips')
    expect(await taskq.simulate('daily', { from, until })).toMatchObject({
      decisions: [{ onOpen: 'supersede' }],
    })
    expect(await taskq.simulate('skips', { from, until })).toMatchObject({
      enabled: false,
      decisions: [{ onOpen: 'skipped_open' }],
    })
    await taskq.runNow('owed')
    expect(await taskq.simulate('owed', { from, until })).toMatchObject({
      decisions: [
        { fires: [day(2), day(3)], missed: 0, cursorFrom: day(2), cursorTo: day(4), onOpen: 'add' },
        { fires: [day(4)], missed: 0, cursorFrom: day(4), cursorTo: day(5), onOpen: 'add' },
      ],
      left: 0,
    })
  })

  it('answers with a bounded number of decisions, and counts the rest', async () => {
    const taskq = await schedules({ cronMaxCatchUp: 1 })
    await taskq.create({ ...dailyDeliverable, cron: '@hourly' })
    const outage = { from: new Date('2030-01-01T00:00:00Z'), until: new Date('2030-01-06T00:00:00Z') }
    const { decisions: all, left } = await taskq.simulate('daily', outage)
    expect([all.length, left]).toEqual([100, 21])
  })

  it('writes nothing, and refuses an unknown name and what is no moment', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    const before = await rowOf()
    await taskq.simulate('daily', { until: new Date('2031-01-01') })
    await taskq.explain('daily')
    expect([await rowOf(), await decisions()]).toMatchObject([before, [{ action: 'create' }]])
    for (const verb of [taskq.simulate('nobody', { until: new Date(0) }), taskq.explain('nobody')]) {
      await expect(verb).rejects.toMatchObject({ code: 'SCHEDULE_UNKNOWN', field: 'name' })
    }
    const refused = taskq.simulate('daily', { until: 'tomorrow' as never })
    await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'until' })
  })
})

describe('explain', () => {
  it('says what it means, when it is due next, and what three days down would do', async () => {
    const taskq = await schedules()
    const startAt = new Date('2099-03-26T12:00:00Z')
    const more = { timezone: 'Europe/Berlin', cron: '30 2 * * *', queue: 'news', startAt } as const
    await taskq.create({ ...dailyIntent, ...more, maxUnclaimedAge: '48h' })
    const explained = await taskq.explain('daily')
    expect(explained.words).toEqual([
      'Due at 30 2 * * * in Europe/Berlin, from 2099-03-26T12:00:00.000Z.',
      'Each instant is a job of post in queue news, with the same payload.',
      'An intent: after an outage the newest instant is fired, and those before it are missed.',
      'A newer one replaces an older one that is not running.',
      'A job that nobody claims for 2d is told to the pager.',
      'It owes no instant; the next is 2099-03-27T01:30:00.000Z.',
    ])
    // The night of the 29th has no 02:30: the clock leaps from 02:00 to 03:00.
    expect(explained.next.map(({ at, local, shifted }) => [at.toISOString(), local, shifted])).toEqual([
      ['2099-03-27T01:30:00.000Z', 'Fri 2099-03-27 02:30:00 GMT+1', false],
      ['2099-03-28T01:30:00.000Z', 'Sat 2099-03-28 02:30:00 GMT+1', false],
      ['2099-03-29T01:00:00.000Z', 'Sun 2099-03-29 03:00:00 GMT+2', true],
      ['2099-03-30T00:30:00.000Z', 'Mon 2099-03-30 02:30:00 GMT+2', false],
      ['2099-03-31T00:30:00.000Z', 'Tue 2099-03-31 02:30:00 GMT+2', false],
    ])
    expect(explained.afterThreeDaysDown).toEqual({ decisions: [], left: 0 })
  })

  it('of a deliverable names each instant of the three days', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await owingSince(midnight(9))
    const { words, afterThreeDaysDown } = await taskq.explain('daily')
    const [days] = await database().rows<{ all: Date[] }>(
      `select array[${midnight(-1)}, ${midnight(-2)}, ${midnight(-3)}] as all`,
    )
    expect(afterThreeDaysDown).toMatchObject({ decisions: [{ fires: days?.all, missed: 0 }], left: 0 })
    expect(words).toContain(
      'A deliverable: after an outage every instant is fired, the oldest first; none is ever superseded.',
    )
    expect(words.at(-1)).toMatch(/^It owes 10 instants from /)
    await taskq.pause('daily')
    expect((await taskq.explain('daily')).words.at(-1)).toMatch(/^It is paused, and owes 10 instants from /)
    await taskq.retire('daily', { reason: 'over' })
    expect(await taskq.explain('daily')).toMatchObject({ next: [], afterThreeDaysDown: { decisions: [] } })
  })
})
