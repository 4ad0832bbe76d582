import type { Instant, Recurrence } from './recurrence/recurrence.ts'

/** What a schedule says of the instants that nobody came for in time. */
export type Missed = 'all' | 'latest' | 'skip'

/** A schedule as far as its instants are concerned. */
export interface Owing {
  readonly recurrence: Recurrence
  /** The first instant that nobody has decided about. */
  readonly cursorMs: number
  readonly missed: Missed
}

export interface PlanBounds {
  /** The database's instant. */
  readonly asOfMs: number
  /** How late an instant may be and still be on time. */
  readonly latenessToleranceMs: number
  /** The most instants that one tick may fire. */
  readonly catchUpMax: number
}

/** What one tick makes of a schedule. */
export interface Plan {
  /** What it fires, the oldest first. */
  readonly fires: readonly Instant[]
  /** How many instants it leaves behind, and the first and the last of them. */
  readonly missed: number
  readonly missedFromMs: number | null
  readonly missedToMs: number | null
  /** The first instant that is undecided then; null: none comes any more. */
  readonly cursorToMs: number | null
}

/**
 * Decides about every instant from the cursor to now, by what the schedule says of missed ones:
 *
 *     cursor ──due──due──due──newest── now ──next──▶
 *     all      fires, the oldest first, so many at a time; what is left stays owed
 *     latest   missed ……… missed  fires
 *     skip     missed ……… missed  fires if it is on time, else it is missed, too
 *
 * The newest is on time while it is no later than the tolerance: its successor, of which it would be late
 * as well, is not due, or it would be the newest itself.
 *
 * @example
 * plan({ recurrence, cursorMs: monday, missed: 'latest' }, { asOfMs: thursday, … })
 * // { fires: [thursday's], missed: 3, missedFromMs: monday, missedToMs: wednesday, cursorToMs: friday }
 */
export function plan({ recurrence, cursorMs, missed }: Owing, bounds: PlanBounds): Plan {
  const { asOfMs, latenessToleranceMs, catchUpMax } = bounds
  const newest = recurrence.newest(cursorMs, asOfMs)
  if (newest === undefined) return nothingDue(recurrence, cursorMs, asOfMs)
  if (missed === 'all') return oldestFirst(recurrence, cursorMs, asOfMs, catchUpMax)
  const isOnTime = asOfMs - newest.atMs <= latenessToleranceMs
  const fires = missed === 'latest' || isOnTime ? [newest] : []
  return {
    fires,
    ...leftBehind(recurrence, cursorMs, fires.length === 0 ? newest.atMs : newest.atMs - 1),
    cursorToMs: recurrence.next(newest.atMs)?.atMs ?? null,
  }
}

/** A cursor that stands on no instant, because somebody set it by hand, moves to the next one. */
function nothingDue(recurrence: Recurrence, cursorMs: number, asOfMs: number): Plan {
  const next = recurrence.next(Math.max(cursorMs - 1, asOfMs))
  return { fires: [], missed: 0, missedFromMs: null, missedToMs: null, cursorToMs: next?.atMs ?? null }
}

function oldestFirst(recurrence: Recurrence, cursorMs: number, asOfMs: number, max: number): Plan {
  const fires: Instant[] = []
  let next = recurrence.next(cursorMs - 1)
  while (next !== undefined && next.atMs <= asOfMs && fires.length < max) {
    fires.push(next)
    next = recurrence.next(next.atMs)
  }
  return { fires, missed: 0, missedFromMs: null, missedToMs: null, cursorToMs: next?.atMs ?? null }
}

/** How many instants lie from the cursor to a moment, and which are the first and the last. */
export function leftBehind(recurrence: Recurrence, fromMs: number, untilMs: number) {
  const missed = untilMs < fromMs ? 0 : recurrence.count(fromMs, untilMs)
  return {
    missed,
    missedFromMs: missed === 0 ? null : (recurrence.next(fromMs - 1)?.atMs ?? null),
    missedToMs: missed === 0 ? null : (recurrence.newest(fromMs, untilMs)?.atMs ?? null),
  }
}
