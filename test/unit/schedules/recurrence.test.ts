import { describe, expect, it } from 'vitest'
import { periodMs, recurrenceOf, spliced } from '../../../shared/schedules/recurrence/recurrence.ts'
import { at, nextOf, recurring, written } from '../../support/due.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Worked out by hand from the dates at which the zones' laws change the clock. */
describe('a listed time', () => {
  it.each([
    ['30 2 * * *', 'America/New_York', '2026-03-07T12:00', ['2026-03-08T07:00 shifted', '2026-03-09T06:30']],
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00', ['2026-03-29T01:00 shifted', '2026-03-30T00:30']],
    ['30 2 * * *', 'Australia/Sydney', '2026-10-03T12:00', ['2026-10-03T16:00 shifted', '2026-10-04T15:30']],
    [
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T00:00',
      ['2026-10-03T15:30 shifted', '2026-10-04T15:15'],
    ],
    ['0 0 * * *', 'Africa/Cairo', '2024-04-25T00:00', ['2024-04-25T22:00 shifted', '2024-04-26T21:00']],
    ['0 0 * * *', 'Asia/Beirut', '2024-03-30T00:00', ['2024-03-30T22:00 shifted', '2024-03-31T21:00']],
    ['0 0 * * *', 'America/Sao_Paulo', '2018-11-03T12:00', ['2018-11-04T03:00 shifted', '2018-11-05T02:00']],
    ['0 12 * * *', 'Pacific/Apia', '2011-12-30T00:00', ['2011-12-30T10:00 shifted', '2011-12-30T22:00']],
    // The Friday that Samoa left out.
    ['0 12 * * 5', 'Pacific/Apia', '2011-12-24T00:00', ['2011-12-30T10:00 shifted', '2012-01-05T22:00']],
    // A step among the minutes makes no pace of a listed hour: twelve times are one instant.
    ['*/5 2 * * *', 'Europe/Berlin', '2026-03-28T12:00', ['2026-03-29T01:00 shifted', '2026-03-30T00:00']],
    // Two hours are left out at once.
    [
      '30 1,2 * * *',
      'Antarctica/Troll',
      '2026-03-28T12:00',
      ['2026-03-29T01:00 shifted', '2026-03-29T23:30'],
    ],
    // Where a time that exists falls on the same instant, it is one, and still tells of the shift.
    ['0 2,3 * * *', 'Europe/Berlin', '2026-03-28T12:00', ['2026-03-29T01:00 shifted', '2026-03-30T00:00']],
  ])('runs once after the gap: %s in %s after %s', (expression, zone, after, expected) =>
    expect(nextOf(recurring(expression, zone), after, 2)).toEqual(expected),
  )

  it.each([
    ['30 1 * * *', 'America/New_York', '2026-10-31T12:00', ['2026-11-01T05:30', '2026-11-02T06:30']],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00', ['2026-10-25T00:30', '2026-10-26T01:30']],
    ['30 2 * * *', 'Australia/Sydney', '2026-04-04T12:00', ['2026-04-04T15:30', '2026-04-05T16:30']],
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T12:00', ['2026-04-04T14:45', '2026-04-05T15:15']],
    ['30 23 * * *', 'America/Sao_Paulo', '2018-02-17T12:00', ['2018-02-18T01:30', '2018-02-19T02:30']],
    ['30 1,2 * * *', 'Antarctica/Troll', '2026-10-24T21:00', ['2026-10-24T23:30', '2026-10-25T00:30']],
    ['30 1,2 * * *', 'Antarctica/Troll', '2026-10-25T00:30', ['2026-10-26T01:30', '2026-10-26T02:30']],
  ])('runs in the first pass of a fold alone: %s in %s after %s', (expression, zone, after, expected) =>
    expect(nextOf(recurring(expression, zone), after, 2)).toEqual(expected),
  )
})

describe('a pace', () => {
  it.each([
    ['30 * * * *', 'America/New_York', '2026-11-01T05:00', ['01T05:30', '01T06:30', '01T07:30']],
    ['0 */2 * * *', 'Europe/Berlin', '2026-10-24T23:00', ['25T00:00', '25T01:00', '25T03:00']],
    // The half hour that is shown again starts anew at half past.
    ['*/20 * * * *', 'Australia/Lord_Howe', '2026-04-04T14:30', ['04T14:40', '04T15:10', '04T15:30']],
  ])('runs through both passes of a fold: %s in %s after %s', (expression, zone, after, expected) =>
    expect(nextOf(recurring(expression, zone), after, 3).map(text => text.slice(8))).toEqual(expected),
  )

  it.each([
    ['0 */2 * * *', 'Europe/Berlin', '2026-03-28T22:30', ['28T23:00', '29T02:00', '29T04:00']],
    ['30 0-6/2 * * *', 'America/New_York', '2026-03-08T05:00', ['08T05:30', '08T08:30', '08T10:30']],
    ['*/20 * * * *', 'Australia/Lord_Howe', '2026-10-03T15:00', ['03T15:10', '03T15:40', '03T16:00']],
    ['0 */6 * * *', 'Pacific/Apia', '2011-12-30T00:00', ['30T04:00', '30T10:00', '30T16:00']],
  ])('skips what a gap leaves out: %s in %s after %s', (expression, zone, after, expected) =>
    expect(nextOf(recurring(expression, zone), after, 3).map(text => text.slice(8))).toEqual(expected),
  )

  it('is not lost on a tick that is late inside the repeated hour', () => {
    const pace = recurring('*/5 * * * *', 'Europe/Berlin')
    for (const hour of ['00', '01', '02']) {
      const tick = at(`2026-10-25T${hour}:17:03`)
      expect(written(pace.newest(tick - hourMs, tick))).toBe(`2026-10-25T${hour}:15`)
      expect(written(pace.next(tick))).toBe(`2026-10-25T${hour}:20`)
      expect(pace.count(tick - hourMs, tick)).toBe(12)
    }
  })
})

describe('an interval', () => {
  it('keeps to its lattice however late it is asked, in any zone', () => {
    const every = recurring('every 15m', 'Europe/Berlin', { start: '2026-10-25T00:07:30' })
    expect(nextOf(every, '2026-10-24T00:00', 2)).toEqual(['2026-10-25T00:07:30', '2026-10-25T00:22:30'])
    expect(written(every.next(at('2026-10-25T01:25:59')))).toBe('2026-10-25T01:37:30')
    expect(every.count(at('2026-10-24T00:00'), at('2026-10-26T00:07:30'))).toBe(24 * 4 + 1)
    expect(written(every.newest(0, at('2026-10-25T00:07:29')))).toBe('never')
  })

  it('is anchored to 1970 where nothing else is said', () => {
    // 1970 began on a Thursday.
    expect(nextOf(recurring('every 7d'), '2026-01-01T00:00', 1)).toEqual(['2026-01-08T00:00'])
  })
})

describe('a recurrence', () => {
  it('has no instant before its start or after its end', () => {
    const bounded = recurring('0 7 * * *', 'UTC', { start: '2026-05-01T07:00', end: '2026-05-03T07:00' })
    const days = ['2026-05-01T07:00', '2026-05-02T07:00', '2026-05-03T07:00']
    expect(nextOf(bounded, '1999-01-01T00:00', 9)).toEqual([...days, 'never'])
    expect(bounded.count(0, at('2030-01-01T00:00'))).toBe(3)
    expect(written(bounded.newest(0, at('2030-01-01T00:00')))).toBe(days[2])
    expect(bounded.newest(0, at('2026-05-01T06:59:59'))).toBeUndefined()
  })

  it('counts both ends of a span, and nothing where the span is empty', () => {
    const daily = recurring('0 7 * * *')
    expect(daily.count(at('2026-05-01T07:00'), at('2026-05-02T07:00'))).toBe(2)
    expect(daily.count(at('2026-05-01T07:00') + 1, at('2026-05-02T07:00') - 1)).toBe(0)
    expect(daily.count(at('2026-05-02T07:00'), at('2026-05-01T07:00'))).toBe(0)
    expect(daily.newest(at('2026-05-02T07:00'), at('2026-05-01T07:00'))).toBeUndefined()
  })

  it('counts ten years of every second, whatever the clock did', () => {
    const [from, until] = [at('2016-01-01T00:00'), at('2026-01-01T00:00')]
    expect(recurring('* * * * * *', 'Europe/Berlin').count(from, until)).toBe((until - from) / 1000 + 1)
    // A list is spared the hour that each autumn repeats.
    const listed = recurring('* * 0-23 * * *', 'Europe/Berlin').count(from, until)
    expect(listed).toBe((until - from) / 1000 + 1 - 10 * 3600)
  })

  it('leaps over the years in which it does not come, and ends where none comes any more', () => {
    expect(nextOf(recurring('0 0 29 2 *'), '2096-03-01T00:00', 1)).toEqual(['2104-02-29T00:00'])
    expect(nextOf(recurring('0 0 29 2 +1'), '2024-02-01T00:00', 2)).toEqual([
      '2044-02-29T00:00',
      '2072-02-29T00:00',
    ])
    expect(nextOf(recurring('0 0 0 1 1 * 2027,2500'), '2026-01-01T00:00', 3)).toEqual([
      '2027-01-01T00:00',
      '2500-01-01T00:00',
      'never',
    ])
    expect(recurring('0 0 * * *').next(at('9999-12-31T00:00'))).toBeUndefined()
    expect(recurring('0 0 * * *').next(Number.POSITIVE_INFINITY)).toBeUndefined()
    expect(written(recurring('0 0 * * *').next(Number.NEGATIVE_INFINITY))).toBe('1970-01-01T00:00')
  })

  it('is found across a seam by how rarely it comes', () => {
    // The second pass of the one hour of a year that it keeps its pace in.
    const yearlyPace = recurring('30 0-2/2 25 10 *', 'Europe/Berlin')
    expect(nextOf(yearlyPace, '2026-10-25T00:45', 1)).toEqual(['2026-10-25T01:30'])
    // From within the second pass back to the first, and from far away to an evening west of Greenwich.
    const newest = (expression: string, zone: string, iso: string) =>
      written(recurring(expression, zone).newest(0, at(iso)))
    expect(newest('30 2 25 10 *', 'Europe/Berlin', '2026-10-25T01:45')).toBe('2026-10-25T00:30')
    expect(newest('0 23 30 6 *', 'America/Los_Angeles', '2026-12-15T00:00')).toBe('2026-07-01T06:00')
  })

  it('has the longest of its next ten gaps for a period', () => {
    expect(periodMs(recurring('0 9 * * 1-5'), at('2026-05-01T00:00'))).toBe(3 * dayMs)
    expect(periodMs(recurring('every 90s'), at('2026-05-01T00:00'))).toBe(90_000)
    expect(periodMs(recurring('0 0 * * *', 'Europe/Berlin'), at('2026-10-20T00:00'))).toBe(25 * hourMs)
    const once = recurring('0 0 1 1 *', 'UTC', { start: '2026-01-01T00:00', end: '2026-12-01T00:00' })
    expect(periodMs(once, 0)).toBeUndefined()
  })
})

describe('recurrences that follow each other', () => {
  const edited = spliced([
    { recurrence: recurring('0 7 * * *'), fromMs: 0, untilMs: at('2026-05-03T07:00') },
    {
      recurrence: recurring('0 9 * * *'),
      fromMs: at('2026-05-03T07:00'),
      untilMs: at('2026-05-05T09:00') + 0.5,
    },
    {
      recurrence: recurring('0 6 * * *'),
      fromMs: at('2026-05-05T09:00') + 0.5,
      untilMs: Number.POSITIVE_INFINITY,
    },
  ])
  const days = ['01T07:00', '02T07:00', '03T09:00', '04T09:00', '05T09:00', '06T06:00', '07T06:00']

  it('count each in its own time, its start included and its end not', () => {
    expect(nextOf(edited, '2026-05-01T00:00', 7).map(text => text.slice(8))).toEqual(days)
    expect(edited.count(at('2026-05-01T00:00'), at('2026-05-07T23:00'))).toBe(7)
  })

  it('find the newest where it lies, in an earlier part too', () => {
    const newest = (iso: string) => written(edited.newest(0, at(iso))).slice(8)
    expect(newest('2026-05-03T08:00')).toBe('02T07:00')
    expect(newest('2026-05-06T05:00')).toBe('05T09:00')
    expect(newest('2026-05-08T00:00')).toBe('07T06:00')
  })
})

describe('a definition is refused', () => {
  const definition = { recurrence: '0 7 * * *', timezone: 'UTC', startAtMs: null, endAtMs: null }

  it.each([
    ['cron', { recurrence: '' }],
    ['cron', { recurrence: '0 0 30 2 *' }],
    ['every', { recurrence: 'every 0.5s' }],
    ['every', { recurrence: 'every 366d' }],
    ['every', { recurrence: 'every' }],
    ['every', { recurrence: 'every 15' }],
    ['timezone', { timezone: 'Europe/Berlim' }],
    ['timezone', { recurrence: 'every 15m', timezone: 'Europe/Berlim' }],
    ['startAt', { startAtMs: Number.NaN }],
    ['startAt', { startAtMs: 1.5 }],
    ['endAt', { endAtMs: Number.POSITIVE_INFINITY }],
    ['endAt', { startAtMs: 2000, endAtMs: 1000 }],
  ])('for its %s: %j', (field, part) => {
    expect(() => recurrenceOf({ ...definition, ...part })).toThrow(
      expect.objectContaining({ name: 'InvalidInputError', code: 'OPTION_INVALID', field }),
    )
  })
})
