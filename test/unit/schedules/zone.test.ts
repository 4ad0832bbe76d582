import { describe, expect, it } from 'vitest'
import { zoneOf } from '../../../shared/schedules/recurrence/zone.ts'
import { hourMs, wallTime } from '../../support/wall-clock.ts'

const at = (iso: string) => Date.parse(`${iso}Z`)
const zones = Intl.supportedValuesOf('timeZone')

/** Every segment from one moment to another, in order. */
function* segmentsOf(name: string, fromMs: number, untilMs: number) {
  for (let atMs = fromMs; atMs < untilMs; ) {
    const segment = zoneOf(name).segmentAt(atMs)
    yield segment
    atMs = segment.untilMs
  }
}

describe('a zone', () => {
  it.each([
    // Seven days of summer time, the shortest stay since 1970.
    'America/Noronha',
    // Summer time that pauses for a month of fasting.
    'Africa/El_Aaiun',
    'Asia/Hebron',
    // Half an hour, and a day that was left out.
    'Australia/Lord_Howe',
    'Pacific/Apia',
  ])('shows what the wall shows at every hour of sixty years: %s', name => {
    const wrong: string[] = []
    for (let atMs = at('1970-01-01'); atMs < at('2030-01-01'); atMs += hourMs) {
      const { fromMs, untilMs, offsetMs } = zoneOf(name).segmentAt(atMs)
      const holds = fromMs <= atMs && atMs < untilMs && wallTime(name, atMs) === atMs + offsetMs
      if (!holds) wrong.push(new Date(atMs).toISOString())
    }
    expect(wrong).toEqual([])
  })

  it.each(zones)('changes at the very second, and knows what was reached before: %s', name => {
    let reachedMs = Number.NEGATIVE_INFINITY
    let endMs = at('1996-01-01')
    for (const segment of segmentsOf(name, endMs, at('2034-01-01'))) {
      expect(segment.fromMs).toBe(endMs)
      for (const atMs of [segment.fromMs, segment.untilMs - 1000]) {
        expect(wallTime(name, atMs)).toBe(atMs + segment.offsetMs)
      }
      // The first year's own past is not walked here.
      if (reachedMs !== Number.NEGATIVE_INFINITY) expect(segment.reachedMs).toBe(reachedMs)
      reachedMs = Math.max(reachedMs, segment.untilMs + segment.offsetMs)
      endMs = segment.untilMs
    }
  })

  it('has offsets of seconds where history has', () => {
    const { offsetMs, untilMs } = zoneOf('Africa/Monrovia').segmentAt(at('1972-01-06'))
    expect([offsetMs, untilMs]).toEqual([-(44 * 60 + 30) * 1000, at('1972-01-07T00:44:30')])
  })

  it('tells by how much a clock was set on and back', () => {
    const jumpAt = (name: string, iso: string) => {
      const { fromMs, offsetMs, reachedMs } = zoneOf(name).segmentAt(at(iso))
      expect(fromMs).toBe(at(iso))
      return (fromMs + offsetMs - reachedMs) / hourMs
    }
    expect(jumpAt('Europe/Berlin', '2026-03-29T01:00')).toBe(1)
    expect(jumpAt('Europe/Berlin', '2026-10-25T01:00')).toBe(-1)
    expect(jumpAt('Australia/Lord_Howe', '2026-10-03T15:30')).toBe(0.5)
    expect(jumpAt('Pacific/Apia', '2011-12-30T10:00')).toBe(24)
    expect(jumpAt('Antarctica/Troll', '2026-10-25T01:00')).toBe(-2)
    expect(jumpAt('Europe/Berlin', '2026-01-01T00:00')).toBe(0)
  })

  it.each(['utc', 'GMT', 'EST5EDT', 'Etc/GMT+5', 'Asia/Calcutta', 'Asia/Kolkata'])('may be called %s', name =>
    expect(zoneOf(name).segmentAt(0).untilMs).toBeGreaterThan(0),
  )

  it.each(['', 'Mars/Olympus', 'Europe/Berlin ', 'Z', 'Local', '+02:00', '-05', undefined, null, 2])(
    'is refused where its name is %j',
    name => {
      expect(() => zoneOf(name as string)).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID', field: 'timezone' }),
      )
    },
  )
})
