import { describe, expect, test } from 'vitest'
import { ruleSchedule } from '../../../functions/dev/schedule-expression.ts'

/** A Thursday. */
const noon = new Date('2026-01-01T12:00:00Z')

function instants(expression: string, count: number, after = noon): string[] {
  const schedule = ruleSchedule(expression)
  const found: string[] = []
  for (let at: Date | null = after; found.length < count; ) {
    at = schedule.next(at, noon)
    if (at === null) break
    found.push(at.toISOString().slice(0, 16))
  }
  return found
}

describe('an AWS cron expression fires when AWS says', () => {
  test.each([
    ['0 10 * * ? *', ['2026-01-02T10:00', '2026-01-03T10:00']],
    ['15 12 * * ? *', ['2026-01-01T12:15', '2026-01-02T12:15']],
    ['0 18 ? * MON-FRI *', ['2026-01-01T18:00', '2026-01-02T18:00', '2026-01-05T18:00']],
    ['0 18 ? * 2-6 *', ['2026-01-01T18:00', '2026-01-02T18:00', '2026-01-05T18:00']],
    ['0 8 1 * ? *', ['2026-02-01T08:00', '2026-03-01T08:00']],
    ['0/15 * * * ? *', ['2026-01-01T12:15', '2026-01-01T12:30', '2026-01-01T12:45', '2026-01-01T13:00']],
    ['0/10 * ? * MON-FRI *', ['2026-01-01T12:10', '2026-01-01T12:20']],
    ['0/5 8-17 ? * MON-FRI *', ['2026-01-01T12:05', '2026-01-01T12:10']],
    ['15 10 ? * 6L 2026-2027', ['2026-01-30T10:15', '2026-02-27T10:15']],
    ['5,35 14 * * ? *', ['2026-01-01T14:05', '2026-01-01T14:35', '2026-01-02T14:05']],
  ])('cron(%s)', (fields, expected) => {
    expect(instants(`cron(${fields})`, expected.length)).toEqual(expected)
  })

  test('at three every day, not at three past every hour', () => {
    expect(instants('cron(0 3 * * ? *)', 3)).toEqual([
      '2026-01-02T03:00',
      '2026-01-03T03:00',
      '2026-01-04T03:00',
    ])
  })

  test('every ten minutes in a window of hours, and then the next day', () => {
    const late = new Date('2026-01-02T08:35:00Z')
    expect(instants('cron(0/10 3-8 * * ? *)', 3, late)).toEqual([
      '2026-01-02T08:40',
      '2026-01-02T08:50',
      '2026-01-03T03:00',
    ])
  })

  test('hours that run over midnight', () => {
    const evening = new Date('2026-01-01T23:15:00Z')
    expect(instants('cron(0/30 20-2 ? * MON-FRI *)', 3, evening)).toEqual([
      '2026-01-01T23:30',
      '2026-01-02T00:00',
      '2026-01-02T00:30',
    ])
    const night = new Date('2026-01-02T02:30:00Z')
    expect(instants('cron(0/30 20-2 ? * MON-FRI *)', 1, night)).toEqual(['2026-01-02T20:00'])
  })

  test('the nth weekday, the last day, the nearest weekday and the week’s last day', () => {
    expect(instants('cron(0 9 ? * 3#2 *)', 2)).toEqual(['2026-01-13T09:00', '2026-02-10T09:00'])
    expect(instants('cron(0 9 ? * TUE#2 *)', 1)).toEqual(['2026-01-13T09:00'])
    expect(instants('cron(0 9 L * ? *)', 2)).toEqual(['2026-01-31T09:00', '2026-02-28T09:00'])
    expect(instants('cron(0 9 3W * ? *)', 2)).toEqual(['2026-01-02T09:00', '2026-02-03T09:00'])
    expect(instants('cron(0 9 ? * L *)', 2)).toEqual(['2026-01-03T09:00', '2026-01-10T09:00'])
  })

  test('Sunday is day 1, Saturday is day 7', () => {
    expect(instants('cron(0 0 ? * 1 *)', 1)).toEqual(['2026-01-04T00:00'])
    expect(instants('cron(0 0 ? * 7 *)', 1)).toEqual(['2026-01-03T00:00'])
  })

  test('a year that has passed never comes', () => {
    expect(instants('cron(0 0 1 1 ? 2020)', 1)).toEqual([])
  })
})

describe('a rate counts from the rule’s creation', () => {
  test.each([
    ['rate(1 minute)', ['2026-01-01T12:01', '2026-01-01T12:02']],
    ['rate(15 minutes)', ['2026-01-01T12:15', '2026-01-01T12:30']],
    ['rate(1 hour)', ['2026-01-01T13:00', '2026-01-01T14:00']],
    ['rate(2 days)', ['2026-01-03T12:00', '2026-01-05T12:00']],
  ])('%s', (expression, expected) => {
    expect(instants(expression, expected.length)).toEqual(expected)
  })

  test('and skips what passed meanwhile', () => {
    expect(instants('rate(5 minutes)', 1, new Date('2026-01-01T12:12:34Z'))).toEqual(['2026-01-01T12:15'])
  })
})

describe('what AWS would refuse, or croner cannot express, is refused by name', () => {
  test.each([
    ['cron(0 3 * * *)', /5 fields, not 6/],
    ['cron(0 3 * * * *)', /day-of-month and day-of-week/],
    ['cron(0 3 ? * ? *)', /day-of-month and day-of-week/],
    ['cron(60 3 * * ? *)', /minutes "60"/],
    ['cron(0 24 * * ? *)', /hours "24"/],
    ['cron(0 3 L-3 * ? *)', /day-of-month "L"/],
    ['cron(0 3 LW * ? *)', /day-of-month "LW"/],
    ['cron(0 3 ? * 0 *)', /day-of-week "0"/],
    ['cron(0 3 ? * MON#2,FRI#1 *)', /day-of-week "MON#2"/],
    ['cron(0 3 * 13 ? *)', /month "13"/],
    ['cron(0/0 3 * * ? *)', /minutes "0\/0"/],
    ['cron(0 3 * * ? 1969)', /year "1969"/],
    ['rate(0 minutes)', /rate\(0 minutes\)/],
    ['rate(1 minutes)', /rate\(1 minutes\)/],
    ['rate(5 minute)', /rate\(5 minute\)/],
    ['rate(30 seconds)', /rate\(30 seconds\)/],
    ['at(2026-01-01T00:00:00)', /neither rate/],
  ])('%s', (expression, reason) => {
    expect(() => ruleSchedule(expression)).toThrow(reason)
  })
})
