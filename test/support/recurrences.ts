import { readFileSync } from 'node:fs'
import fc from 'fast-check'

/** Recurrences for property tests: those that people really write, and generated ones of each kind. */

/** The lines of crons.tsv. */
export const writtenCrons = readFileSync(new URL('../data/crons.tsv', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .slice(1)
  .map(line => {
    const [recurrence = '', timezone = ''] = line.split('\t')
    return { recurrence, timezone }
  })

/** Whether it has several instants a minute, so that a window of days would hold too many of them. */
export const isWithinMinutes = (recurrence: string) => /^(?!\d+ )\S+( \S+){5}$/.test(recurrence)

const number = (min: number, max: number) => fc.integer({ min, max }).map(String)

const range = (min: number, max: number) =>
  fc
    .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
    .map(([one, other]) => `${Math.min(one, other)}-${Math.max(one, other)}`)

const stepped = (range: fc.Arbitrary<string>, most: number) =>
  fc.tuple(range, fc.integer({ min: 2, max: most })).map(([from, step]) => `${from}/${step}`)

const listOf = (part: fc.Arbitrary<string>) =>
  fc.uniqueArray(part, { minLength: 2, maxLength: 3 }).map(parts => parts.join())

/** Mostly `*`, so that the dates of a short window do not rule out most of what is generated. */
const mostly = (...others: fc.Arbitrary<string>[]) =>
  fc.oneof({ weight: 5 * others.length, arbitrary: fc.constant('*') }, ...others)

/** The hours in which zones change their clocks, more often than others. */
const hour = fc.oneof(number(0, 4), number(23, 23), number(0, 23))
const pacedHours = fc.oneof(stepped(fc.constant('*'), 12), stepped(range(0, 23), 6))
const hours = fc.oneof(
  fc.constantFrom('*', '?'),
  pacedHours,
  listOf(pacedHours),
  hour,
  listOf(hour),
  range(0, 23),
  fc.tuple(pacedHours, hour).map(parts => parts.join()),
)

const minutes = fc.oneof(
  fc.constantFrom('*', '0', '30'),
  number(0, 59),
  listOf(number(0, 59)),
  range(0, 59),
  stepped(fc.constant('*'), 45),
  stepped(range(0, 59), 20),
)

const weekday = fc.oneof(number(0, 7), fc.constantFrom('SUN', 'mon', 'SAT'))
// No day beyond the 29th by number: with a month that is shorter it would never come, and be refused.
const dates = fc.tuple(
  mostly(fc.constantFrom('?', 'L'), number(1, 28), listOf(number(1, 29)), stepped(fc.constant('*'), 9)),
  mostly(number(1, 12), range(1, 12), fc.constantFrom('MAR,OCT', 'mar-NOV', '*/2')),
  mostly(
    weekday,
    listOf(weekday),
    fc.constantFrom('?', 'MON-FRI', '5-7', '1-5/2', 'SUN#L', '1#1,3#2'),
    fc.tuple(weekday, number(1, 5)).map(parts => parts.join('#')),
  ),
)

const cronWith = (second: fc.Arbitrary<string>) =>
  fc.tuple(second, minutes, hours, dates).map(fields => fields.flat().join(' ').trimStart())

/** With an instant or none in each minute. */
export const generatedCrons = cronWith(fc.oneof({ weight: 9, arbitrary: fc.constant('') }, number(0, 59)))

export const cronsWithinMinutes = cronWith(
  fc.oneof(fc.constant('*'), listOf(number(0, 59)), range(0, 59), stepped(fc.constant('*'), 45)),
)

export const everies = fc
  .oneof(
    fc.tuple(fc.integer({ min: 20, max: 600 }), fc.constant('s')),
    fc.tuple(fc.integer({ min: 1, max: 180 }), fc.constant('m')),
    fc.tuple(fc.integer({ min: 1, max: 100 }), fc.constant('h')),
    fc.tuple(fc.integer({ min: 1, max: 4 }), fc.constant('d')),
  )
  .map(([amount, unit]) => `every ${amount}${unit}`)
