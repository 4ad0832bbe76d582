import { leftBehind } from '../planner.ts'
import { firingOfHeld, type HeldSchedule } from './held-schedule.ts'

/** What a schedule owes at a moment: the instants since its cursor that nobody has decided about. */
export interface Owing {
  /** Undefined where its recurrence cannot be read. */
  readonly count: number | undefined
  readonly fromMs: number | null
  readonly toMs: number | null
}

/** What is owed before a moment, by the definitions that held; an instant at it is the next, and not owed. */
export function owingAt(held: HeldSchedule, nowMs: number): Owing {
  const { cursorMs } = held
  if (cursorMs === null) return { count: 0, fromMs: null, toMs: null }
  const firing = firingOfHeld(held)
  if (firing === undefined) return { count: undefined, fromMs: null, toMs: null }
  const { missed, missedFromMs, missedToMs } = leftBehind(firing, cursorMs, nowMs - 1)
  return { count: missed, fromMs: missedFromMs, toMs: missedToMs }
}

/**
 * @example
 * owedWords({ count: 3, fromMs: monday, toMs: wednesday })
 * // '3 instants from 2026-03-02T07:00:00.000Z to 2026-03-04T07:00:00.000Z'
 */
export function owedWords({ count, fromMs, toMs }: Owing): string {
  if (count === undefined) return 'instants of a recurrence that cannot be read'
  if (count === 0) return 'no instant'
  if (count === 1) return `the instant ${words(fromMs)}`
  return `${count} instants from ${words(fromMs)} to ${words(toMs)}`
}

/** An instant in a note: in UTC, and `never` where none comes. */
export const words = (ms: number | null | undefined) => (ms == null ? 'never' : new Date(ms).toISOString())
