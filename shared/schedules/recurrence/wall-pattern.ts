import { CronPattern } from 'croner'
import { InvalidInputError } from '../../core/errors.ts'
import { storableText } from '../../core/text.ts'
import { calendarOf } from './calendar.ts'
import { remembered } from './remembered.ts'
import { type NamedValues, namedValues, timesOfDay } from './times-of-day.ts'

/**
 * A cron expression as wall times, in milliseconds as if the wall stood in Greenwich: dates, and on each of
 * them the same times. Nothing here knows a zone, and croner, which reads the fields and knows the dates, is
 * never asked for an instant: so neither its clock nor its own rules for gaps and folds have a say.
 */
export interface WallPattern {
  /**
   * How it passes a change of the clock: a pace is kept by the wall clock, so it runs twice what a fold
   * repeats and skips what a gap leaves out; a listed time runs once, whatever the clock does.
   */
  readonly kind: 'pace' | 'listed'
  /** The first at or after a wall time; undefined where none comes. */
  first(wallMs: number): number | undefined
  /** The last before a wall time. */
  last(wallMs: number): number | undefined
  /** How many lie in [fromMs, untilMs). */
  count(fromMs: number, untilMs: number): number
}

const dayMs = 86_400_000

/** Fields listed out to the last value fit three times over. */
const expressionCharactersMax = 1_000

/** Distinct texts of one field, or of the dates of an expression, that are kept as they were read. */
const readFieldsMax = 1_000

/**
 * A cron expression in croner's dialect: five fields, six with seconds before them, seven with a year after
 * those, or a nickname such as `@daily`.
 *
 * @throws InvalidInputError (`OPTION_INVALID`, field `cron`) with croner's reason, or where no date of the
 * calendar ever matches.
 *
 * @example
 * wallPatternOf('0 7 * * *').first(Date.UTC(2026, 2, 1, 8)) // Date.UTC(2026, 2, 2, 7)
 */
export function wallPatternOf(expression: string): WallPattern {
  if (typeof expression !== 'string') throw refused('is no text')
  if (expression.length > expressionCharactersMax) {
    throw refused(`is longer than ${expressionCharactersMax} characters`)
  }
  const [second, minute, hour, ...dateFields] = fieldsOf(expression)
  const { dates, times } = readBy(expression, () => ({
    times: timesOfDay(valuesOf(`hour ${hour}`), valuesOf(`minute ${minute}`), valuesOf(`second ${second}`)),
    dates: datesOf(dateFields.join(' ')),
  }))
  if (dates.first(0) === undefined) {
    throw refused(`"${expression}" never comes: no date from 1970 on is like that`)
  }
  const momentAt = (day: number, rank: number) => day * dayMs + times.timeAt(rank) * 1000
  /** The day of a wall time, and how many times of it come before. */
  const placed = (wallMs: number) => {
    const day = Math.floor(wallMs / dayMs)
    return { day, rank: times.rankOf(Math.ceil((wallMs - day * dayMs) / 1000)) }
  }
  return {
    kind: isPace(hour) ? 'pace' : 'listed',
    first(wallMs) {
      const { day, rank } = placed(wallMs)
      const date = dates.first(rank < times.count ? day : day + 1)
      return date === undefined ? undefined : momentAt(date, date === day ? rank : 0)
    },
    last(wallMs) {
      const { day, rank } = placed(wallMs)
      const date = dates.last(rank > 0 ? day : day - 1)
      return date === undefined ? undefined : momentAt(date, (date === day ? rank : times.count) - 1)
    },
    count(fromMs, untilMs) {
      if (fromMs >= untilMs) return 0
      const [from, until] = [placed(fromMs), placed(untilMs)]
      const onDay = ({ day, rank }: { day: number; rank: number }) => rank * dates.count(day, day + 1)
      return dates.count(from.day, until.day) * times.count + onDay(until) - onDay(from)
    },
  }
}

/** Seven fields, from seconds to years. */
function fieldsOf(expression: string): string[] {
  // croner alone knows what its nicknames stand for.
  const isNickname = expression.trim().startsWith('@')
  const written = isNickname ? readBy(expression, () => new CronPattern(expression).pattern) : expression
  const fields = written.match(/\S+/g) ?? []
  if (fields.length < 5 || fields.length > 7) {
    throw refused(
      `"${storableText(expression, 200)}" has ${fields.length} field(s) instead of five (minute, hour, day ` +
        'of month, month, day of week), six (a second before those) or seven (a year after them)',
    )
  }
  return [...(fields.length === 5 ? ['0'] : []), ...fields, ...(fields.length < 7 ? ['*'] : [])]
}

/** An hour field of nothing but a wildcard, or of nothing but steps. */
function isPace(hour = ''): boolean {
  return hour === '*' || hour === '?' || hour.split(',').every(part => part.includes('/'))
}

const places = { second: 0, minute: 1, hour: 2 } as const

/**
 * What a field of the time names, by its unit and text, as in `hour 8,20`. Each field is read by itself,
 * since a thousand schedules share a few texts of each and croner takes thirty microseconds a pattern.
 */
const valuesOf = remembered(3 * readFieldsMax, (unitAndText: string): NamedValues => {
  const [unit, text = ''] = unitAndText.split(' ') as [keyof typeof places, string?]
  const fields = ['*', '*', '*', '*', '*', '*'].with(places[unit], text)
  return namedValues(new CronPattern(fields.join(' '))[unit])
})

const datesOf = remembered(readFieldsMax, calendarOf)

function readBy<Read>(expression: string, read: () => Read): Read {
  try {
    return read()
  } catch (cause) {
    // croner repeats what it was given, which may be anything.
    const reason = cause instanceof Error ? cause.message.replace(/^CronPattern: /, '') : 'it cannot be read'
    throw refused(storableText(`"${expression}" is no cron expression: ${reason}`, 500), cause)
  }
}

function refused(reason: string, cause?: unknown): InvalidInputError {
  return new InvalidInputError('OPTION_INVALID', 'cron', reason, { cause })
}
