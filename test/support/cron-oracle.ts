import { parseDuration } from '../../shared/core/durations.ts'
import type { Instant } from '../../shared/schedules/recurrence/recurrence.ts'
import { type CronFields, parseCron } from './cron-fields.ts'
import { dayMs, hourMs, minuteMs, type WallClock } from './wall-clock.ts'

/**
 * When a recurrence is due, found the slow way: by walking real time and looking at the wall at every minute.
 * It is what the product's recurrences are held against, so it has none of their code and none of their
 * cleverness:
 *
 * - a pace is due whenever the wall shows a time that matches, in both passes of a fold; what a gap leaves
 *   out is never shown;
 * - a listed time is due at the first minute at which the wall shows it or has passed it. The highest time
 *   shown so far tells both: at or below it all was due before (the second pass of a fold); what a minute
 *   jumps over is due at that minute (the end of a gap), once for all of it, and marked as shifted.
 */
export interface RecurrenceDefinition {
  readonly recurrence: string
  readonly timezone: string
  readonly startAtMs: number | null
  readonly endAtMs: number | null
}

/** A wall time's match, asked by the minute. The days are remembered: 1440 minutes share one. */
function matcherOf(fields: CronFields): (wallMs: number) => boolean {
  const days = new Map<number, boolean>()
  const isDay = (wallMs: number) => {
    const day = Math.floor(wallMs / dayMs)
    const known = days.get(day) ?? fields.isDay(wallMs)
    days.set(day, known)
    return known
  }
  return wallMs =>
    fields.minutes.has((wallMs / minuteMs) % 60) &&
    fields.hours.has(Math.floor(wallMs / hourMs) % 24) &&
    isDay(wallMs)
}

function* cronInstants(expression: string, clock: WallClock): Generator<Instant> {
  const fields = parseCron(expression)
  const matches = matcherOf(fields)
  let passed = (clock.shown[0] ?? 0) - minuteMs
  for (const [minute, shown] of clock.shown.entries()) {
    const atMs = clock.firstMs + minute * minuteMs
    let isShifted = false
    if (!fields.isPace) {
      if (shown <= passed) continue
      for (passed += minuteMs; passed < shown; passed += minuteMs) isShifted ||= matches(passed)
    }
    const seconds = matches(shown) ? fields.seconds : []
    if (isShifted && seconds[0] !== 0) yield { atMs, shifted: true }
    for (const second of seconds) {
      yield { atMs: atMs + second * 1000, shifted: isShifted && second === 0 }
    }
  }
}

function* latticeInstants(everyMs: number, anchorMs: number, clock: WallClock): Generator<Instant> {
  const endMs = clock.firstMs + clock.shown.length * minuteMs
  const first = Math.ceil((clock.firstMs - anchorMs) / everyMs)
  for (let atMs = anchorMs + first * everyMs; atMs < endMs; atMs += everyMs) yield { atMs, shifted: false }
}

/** The instants of a recurrence in a window that lies inside the clock's, both ends included. */
export function dueInstants(
  { recurrence, startAtMs, endAtMs }: Omit<RecurrenceDefinition, 'timezone'>,
  clock: WallClock,
  fromMs: number,
  untilMs: number,
): Instant[] {
  const [, period] = /^every (\S+)$/.exec(recurrence) ?? []
  const due =
    period === undefined
      ? cronInstants(recurrence, clock)
      : latticeInstants(parseDuration(period) ?? Number.NaN, startAtMs ?? 0, clock)
  const lowest = Math.max(fromMs, startAtMs ?? fromMs)
  const highest = Math.min(untilMs, endAtMs ?? untilMs)
  return [...due].filter(({ atMs }) => atMs >= lowest && atMs <= highest)
}
