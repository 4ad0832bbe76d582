import { describe, expect, it } from 'vitest'
import { wallPatternOf } from '../../../shared/schedules/recurrence/wall-pattern.ts'
import { at, nextOf, recurring } from '../../support/due.ts'

const dates = (expression: string, after: string, count: number) =>
  nextOf(recurring(expression), after, count).map(text => text.slice(0, 10))

describe('a cron expression', () => {
  it.each([
    ['0 0 L * *', ['2026-01-31', '2026-02-28', '2026-03-31']],
    ['0 0 LW * *', ['2026-01-30', '2026-02-27', '2026-03-31']],
    ['0 0 15W * *', ['2026-01-15', '2026-02-16', '2026-03-16']],
    ['0 0 15,L * *', ['2026-01-15', '2026-01-31', '2026-02-15']],
    ['0 0 * * FRI#2', ['2026-01-09', '2026-02-13', '2026-03-13']],
    ['0 0 * * 1#L', ['2026-01-26', '2026-02-23', '2026-03-30']],
    ['0 0 * * 5L', ['2026-01-30', '2026-02-27', '2026-03-27']],
    // Both days restricted: either will do, unless a plus asks for both.
    ['0 0 13 * FRI', ['2026-01-02', '2026-01-09', '2026-01-13']],
    ['0 0 13 * +FRI', ['2026-02-13', '2026-03-13', '2026-11-13']],
    ['0 0 ? * SUN', ['2026-01-04', '2026-01-11', '2026-01-18']],
    ['0 0 * * 7', ['2026-01-04', '2026-01-11', '2026-01-18']],
    ['0 0 */10 * *', ['2026-01-11', '2026-01-21', '2026-01-31']],
    ['0 0 1 feb,Aug-Sep *', ['2026-02-01', '2026-08-01', '2026-09-01']],
    ['@weekly', ['2026-01-04', '2026-01-11', '2026-01-18']],
    [' @Monthly ', ['2026-02-01', '2026-03-01', '2026-04-01']],
    ['0 0 0 1 1 * 2027-2031/2', ['2027-01-01', '2029-01-01', '2031-01-01']],
  ])('names dates: %s', (expression, expected) =>
    expect(dates(expression, '2026-01-01T00:00', 3)).toEqual(expected),
  )

  it('has seconds before five fields, and none among them', () => {
    expect(nextOf(recurring('5 4 3 * * *'), '2026-01-01T00:00', 1)).toEqual(['2026-01-01T03:04:05'])
    expect(nextOf(recurring('4 3 * * *'), '2026-01-01T00:00', 1)).toEqual(['2026-01-01T03:04'])
  })

  it.each(['*', '?', '*/2', '0-12/3', '*/5,0-6/2'])('keeps a pace where its hours are %s', hours =>
    expect(wallPatternOf(`*/7 ${hours} * * *`).kind).toBe('pace'),
  )

  it.each(['2', '0-23', '1,*/6', '0,12'])('is a list where its hours are %s', hours =>
    expect(wallPatternOf(`*/7 ${hours} * * *`).kind).toBe('listed'),
  )

  it('finds and counts its times from any moment of a day', () => {
    const pattern = wallPatternOf('0,30 20-40/10 8,17 * * *')
    const day = at('2026-01-05T00:00')
    const times = [8, 17].flatMap(hour =>
      [20, 30, 40].flatMap(minute =>
        [0, 30].map(second => day + ((hour * 60 + minute) * 60 + second) * 1000),
      ),
    )
    for (const ms of times.flatMap(time => [time - 1, time, time + 1])) {
      expect(pattern.first(ms)).toBe(times.find(time => time >= ms) ?? (times[0] ?? 0) + 86_400_000)
      expect(pattern.last(ms)).toBe(times.findLast(time => time < ms) ?? (times.at(-1) ?? 0) - 86_400_000)
      expect(pattern.count(day, ms)).toBe(times.filter(time => time < ms).length)
      expect(pattern.count(ms, day + 2 * 86_400_000)).toBe(12 + times.filter(time => time >= ms).length)
    }
  })

  it.each([
    ['', '0 field(s)'],
    ['* * * *', '4 field(s)'],
    ['* * * * * * * *', '8 field(s)'],
    ['2026-05-01T07:00:00', '1 field(s)'],
    ['Every 5m', '2 field(s)'],
    ['0 24 * * *', 'Invalid value for hour: 24'],
    ['5/15 * * * *', 'numeric prefix'],
    ['0 0 * * MOO', 'illegal characters'],
    ['0 0 * * 1#6', 'nth weekday'],
    ['@reboot', 'not supported'],
    ['\u0000 * * * *', '"\\x00 * * * *"'],
    [`${'1,'.repeat(600)}1 * * * *`, 'longer than'],
    // Dates that no calendar has.
    ['0 0 30 2 *', 'never comes'],
    ['0 0 31 4,6,9,11 *', 'never comes'],
    ['0 0 0 29 2 * 2027', 'never comes'],
    ['0 0 0 1 1 * 1950', 'never comes'],
    [undefined, 'is no text'],
  ])('is refused with the reason: %j', (expression, reason) => {
    expect(() => wallPatternOf(expression as string)).toThrow(
      expect.objectContaining({
        code: 'OPTION_INVALID',
        field: 'cron',
        message: expect.stringContaining(reason),
      }),
    )
  })
})
