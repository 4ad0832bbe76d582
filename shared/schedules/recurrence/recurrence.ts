import { parseDuration } from '../../core/durations.ts'
import { InvalidInputError } from '../../core/errors.ts'
import { storableText } from '../../core/text.ts'
import type { DueInstants, Instant } from './due-instants.ts'
import { lattice } from './lattice.ts'
import { wallPatternOf } from './wall-pattern.ts'
import { zoneOf } from './zone.ts'
import { zonedPattern } from './zoned-pattern.ts'

/**
 * When a schedule is due: from a text, a zone and bounds to instants. Pure: it asks no database and no clock,
 * and every moment is a number of milliseconds since 1970 that the caller has read from the database.
 *
 *     text ─▶ fields ─▶ times of a day × dates of a calendar = wall times      (wall-pattern.ts)
 *     zone ─▶ segments of constant offset, with what the clock showed before    (zone.ts)
 *     wall times by segments ─▶ instants, by the policy for gaps and folds      (zoned-pattern.ts)
 *
 * An interval, `every 15m`, is a lattice of instants instead, which no zone bends.
 */
export type { Instant } from './due-instants.ts'

/** The instants of a schedule, in time's order. */
export interface Recurrence {
  /** The first instant after a moment; undefined where none comes any more. */
  next(afterMs: number): Instant | undefined
  /** The newest instant in [fromMs, untilMs], both included. */
  newest(fromMs: number, untilMs: number): Instant | undefined
  /** How many instants lie in [fromMs, untilMs], both included. */
  count(fromMs: number, untilMs: number): number
}

export interface RecurrenceDefinition {
  /** A cron expression in croner's dialect, or `every 15m`. */
  readonly recurrence: string
  /** A name that Intl knows, such as `Europe/Berlin`; no offset. An interval has no use for it. */
  readonly timezone: string
  /** No instant comes before it, and an interval is anchored to it, else to 1970. */
  readonly startAtMs: number | null
  /** No instant comes after it. */
  readonly endAtMs: number | null
}

/** Where croner's years end, and four-digit dates with them. */
const latestMs = Date.UTC(9999, 11, 31)

/** A longer one is a mistake for a date, and no period of a pager. */
const intervalMsMax = 365 * 86_400_000

/**
 * The recurrence of a definition. One that can come, but not between its bounds or not after some moment, is
 * no error here: its `next` answers undefined.
 *
 * @throws InvalidInputError (`OPTION_INVALID`) with the field `cron`, `every`, `timezone`, `startAt` or
 * `endAt`: a text that cannot be read, dates that no calendar has, an unknown zone, a bound that is no
 * moment.
 *
 * @example
 * const daily = recurrenceOf({
 *   recurrence: '0 7 * * *', timezone: 'Europe/Berlin', startAtMs: null, endAtMs: null,
 * })
 * daily.next(Date.UTC(2026, 2, 28, 12)) // { atMs: Date.UTC(2026, 2, 29, 5), shifted: false }
 */
export function recurrenceOf(definition: RecurrenceDefinition): Recurrence {
  const { startAtMs, endAtMs } = definition
  checkMoment('startAt', startAtMs)
  checkMoment('endAt', endAtMs)
  if (startAtMs !== null && endAtMs !== null && endAtMs < startAtMs)
    throw refused('endAt', 'is before startAt')
  return within(instantsOf(definition), startAtMs ?? 0, endAtMs ?? latestMs)
}

/**
 * The longest of the next ten gaps after a moment, in milliseconds: what an uneven recurrence calls its
 * period. Undefined where fewer than two instants come.
 */
export function periodMs(recurrence: Recurrence, afterMs: number): number | undefined {
  let longest: number | undefined
  let last = recurrence.next(afterMs)
  for (let gap = 0; gap < 10 && last !== undefined; gap += 1) {
    const next = recurrence.next(last.atMs)
    if (next !== undefined) longest = Math.max(longest ?? 0, next.atMs - last.atMs)
    last = next
  }
  return longest
}

/**
 * Recurrences that follow each other in time, as the revisions of an edited schedule do: each part counts in
 * [fromMs, untilMs). The parts are in order and do not overlap; the last may end at Infinity.
 */
export function spliced(
  parts: readonly { readonly recurrence: Recurrence; readonly fromMs: number; readonly untilMs: number }[],
): Recurrence {
  const limited = parts.map(({ recurrence, fromMs, untilMs }) => ({
    recurrence,
    // An instant is a whole millisecond; a cursor may have microseconds.
    first: Math.ceil(fromMs),
    last: Math.ceil(untilMs) - 1,
  }))
  return {
    next(afterMs) {
      for (const { recurrence, first, last } of limited) {
        if (last <= afterMs) continue
        const instant = recurrence.next(Math.max(afterMs, first - 1))
        if (instant !== undefined && instant.atMs <= last) return instant
      }
      return undefined
    },
    newest(fromMs, untilMs) {
      for (const { recurrence, first, last } of limited.toReversed()) {
        const instant = recurrence.newest(Math.max(fromMs, first), Math.min(untilMs, last))
        if (instant !== undefined) return instant
      }
      return undefined
    },
    count: (fromMs, untilMs) =>
      limited.reduce(
        (sum, { recurrence, first, last }) =>
          sum + recurrence.count(Math.max(fromMs, first), Math.min(untilMs, last)),
        0,
      ),
  }
}

function instantsOf({ recurrence, timezone, startAtMs }: RecurrenceDefinition): DueInstants {
  const zone = zoneOf(timezone)
  const [word, ...rest] = String(recurrence).trim().split(/\s+/)
  if (word !== 'every') return zonedPattern(wallPatternOf(recurrence), zone)
  const interval = rest.join(' ')
  const everyMs = parseDuration(interval) ?? 0
  if (everyMs < 1000 || everyMs > intervalMsMax || everyMs % 1000 !== 0) {
    const written = storableText(interval, 100)
    throw refused('every', `"${written}" is no duration of whole seconds from 1s to 365d, such as 90s or 15m`)
  }
  return lattice(startAtMs ?? 0, everyMs)
}

/** Instants between two bounds, both included. */
function within(instants: DueInstants, earliestMs: number, lastMs: number): Recurrence {
  const from = (fromMs: number) => Math.max(Math.ceil(fromMs), earliestMs, 0)
  const until = (untilMs: number) => Math.min(Math.floor(untilMs), lastMs, latestMs)
  return {
    next: afterMs => instants.first(from(Math.floor(afterMs) + 1), until(lastMs)),
    newest: (fromMs, untilMs) => instants.last(from(fromMs), until(untilMs)),
    count: (fromMs, untilMs) => instants.count(from(fromMs), until(untilMs)),
  }
}

function checkMoment(field: 'startAt' | 'endAt', ms: number | null): void {
  if (ms !== null && new Date(ms).getTime() !== ms) {
    throw refused(field, 'is no moment: a whole number of milliseconds since 1970 that a Date can hold')
  }
}

function refused(field: string, reason: string): InvalidInputError {
  return new InvalidInputError('OPTION_INVALID', field, reason)
}
