import { describe, expect, it } from 'vitest'
import { parseCron } from '../../support/cron-fields.ts'
import { dueInstants } from '../../support/cron-oracle.ts'
import { hourMs, readWallClock, transitionsOf } from '../../support/wall-clock.ts'

/** What the oracle finds within hours, written as `29T01:00` and `29T01:00 shifted`. */
function due(zone: string, recurrence: string, from: string, hours: number, startAtMs: number | null = null) {
  const fromMs = Date.parse(`${from}Z`)
  const untilMs = fromMs + hours * hourMs
  const clock = readWallClock(zone, fromMs, untilMs)
  return dueInstants({ recurrence, startAtMs, endAtMs: null }, clock, fromMs, untilMs).map(
    ({ atMs, shifted }) => {
      const text = new Date(atMs).toISOString().slice(8, 19).replace(/:00$/, '')
      return shifted ? `${text} shifted` : text
    },
  )
}

/** Worked out by hand from the dates at which the zones' laws change the clock. */
describe('the oracle', () => {
  it.each([
    ['America/New_York', '2026-03-07T12:00', 48, ['08T07:00 shifted', '09T06:30']],
    ['Europe/Berlin', '2026-03-28T12:00', 48, ['29T01:00 shifted', '30T00:30']],
    ['Europe/Berlin', '2026-10-24T12:00', 48, ['25T00:30', '26T01:30']],
  ])('runs a listed 02:30 of %s once on %s and the day after', (zone, from, hours, expected) =>
    expect(due(zone, '30 2 * * *', from, hours)).toEqual(expected),
  )

  it('runs a listed time once, whose hour New York repeats', () => {
    expect(due('America/New_York', '30 1 * * *', '2026-10-31T12:00', 48)).toEqual(['01T05:30', '02T06:30'])
    expect(due('America/New_York', '30 0,1 * * *', '2026-11-01T04:30', 2)).toEqual(['01T04:30', '01T05:30'])
  })

  it('keeps a pace through both passes, and through a gap without what does not exist', () => {
    const halves = ['01T04:30', '01T05:30', '01T06:30', '01T07:30']
    expect(due('America/New_York', '30 * * * *', '2026-11-01T04:00', 4)).toEqual(halves)
    expect(due('America/New_York', '30 */1 * * *', '2026-11-01T04:00', 4)).toEqual(halves)
    const evens = ['08T05:30', '08T08:30']
    expect(due('America/New_York', '30 */4 * * *', '2026-03-08T05:00', 4)).toEqual(evens)
    expect(due('America/New_York', '30 0-6/2 * * *', '2026-03-08T05:00', 4)).toEqual(evens)
  })

  it('makes one of several listed times that a gap swallows', () => {
    expect(due('America/New_York', '*/5 2 * * *', '2026-03-08T05:00', 4)).toEqual(['08T07:00 shifted'])
    expect(due('America/New_York', '0 2,3 * * *', '2026-03-08T05:00', 4)).toEqual(['08T07:00 shifted'])
  })

  it('sets the seconds of what a gap swallows to none', () =>
    expect(due('America/New_York', '9 0 2,3 * * *', '2026-03-08T05:00', 4)).toEqual([
      '08T07:00 shifted',
      '08T07:00:09',
    ]))

  it('knows that Lord Howe shifts by half an hour', () => {
    const zone = 'Australia/Lord_Howe'
    expect(due(zone, '15 2 * * *', '2026-10-03T12:00', 24)).toEqual(['03T15:30 shifted'])
    expect(due(zone, '*/20 * * * *', '2026-04-04T14:20', 1)).toEqual(['04T14:20', '04T14:40', '04T15:10'])
    expect(due(zone, '40 1 * * *', '2026-04-04T12:00', 24)).toEqual(['04T14:40'])
  })

  it('knows midnights that do not exist, and those that come twice', () => {
    expect(due('Africa/Cairo', '0 0 * * *', '2026-04-23T12:00', 36)).toEqual(['23T22:00 shifted', '24T21:00'])
    expect(due('Africa/Cairo', '30 23 * * *', '2026-10-29T12:00', 36)).toEqual(['29T20:30', '30T21:30'])
    expect(due('America/Sao_Paulo', '0 0 * * *', '2018-11-03T12:00', 48)).toEqual([
      '04T03:00 shifted',
      '05T02:00',
    ])
    expect(due('America/Sao_Paulo', '30 23 * * *', '2018-02-17T12:00', 24)).toEqual(['18T01:30'])
  })

  it('knows the day that Apia left out', () => {
    expect(due('Pacific/Apia', '0 7 * * *', '2011-12-29T12:00', 36)).toEqual([
      '29T17:00',
      '30T10:00 shifted',
      '30T17:00',
    ])
    expect(due('Pacific/Apia', '0 */7 30 * *', '2011-12-28T00:00', 96)).toEqual([])
  })

  it('lays `every` on a lattice that no zone moves', () => {
    expect(due('America/New_York', 'every 90m', '2026-03-08T05:00', 4)).toEqual([
      '08T06:00',
      '08T07:30',
      '08T09:00',
    ])
    const anchor = Date.parse('2026-03-08T05:10Z')
    expect(due('UTC', 'every 2h', '2026-03-08T05:00', 4, anchor)).toEqual(['08T05:10', '08T07:10'])
  })

  it('finds where a zone changes its clock', () =>
    expect(
      transitionsOf('America/New_York', Date.parse('2026-01-01Z'), Date.parse('2027-01-01Z')).map(at =>
        new Date(at).toISOString(),
      ),
    ).toEqual(['2026-03-08T07:00:00.000Z', '2026-11-01T06:00:00.000Z']))
})

describe("the oracle's fields", () => {
  it.each([
    ['0 9 L * *', ['2026-01-31', '2026-02-28', '2026-03-31']],
    ['0 9 * * 1#1', ['2026-01-05', '2026-02-02', '2026-03-02']],
    ['0 9 * * FRI#L', ['2026-01-30', '2026-02-27', '2026-03-27']],
    ['0 0 30 * 7', ['2026-01-04', '2026-01-11', '2026-01-18', '2026-01-25', '2026-01-30', '2026-02-01']],
    ['0 0 */10 1 *', ['2026-01-01', '2026-01-11', '2026-01-21', '2026-01-31']],
    ['@yearly', ['2026-01-01']],
    ['0 0 1-3/2 JAN,mar ?', ['2026-01-01', '2026-01-03', '2026-03-01', '2026-03-03']],
  ])('read the days of %s', (expression, expected) => {
    const { isDay } = parseCron(expression)
    const days = Array.from({ length: 90 }, (_, day) => Date.UTC(2026, 0, 1 + day)).filter(isDay)
    expect(days.map(day => new Date(day).toISOString().slice(0, 10)).slice(0, expected.length)).toEqual(
      expected,
    )
  })

  it.each([
    ['0 * * * *', true],
    ['0 ? * * *', true],
    ['0 */2 * * *', true],
    ['0 0-6/2,12-18/3 * * *', true],
    ['0 0-6/2,12 * * *', false],
    ['*/5 2 * * *', false],
    ['0 9-17 * * *', false],
    ['@hourly', true],
    ['@daily', false],
  ])('take the hours of %s for a pace: %s', (expression, isPace) =>
    expect(parseCron(expression).isPace).toBe(isPace),
  )

  it.each(['', '* * * *', '60 * * * *', '0 24 * * *', 'x * * * *', '0 0 32 * *'])('refuse "%s"', expression =>
    expect(() => parseCron(expression)).toThrow(),
  )
})
