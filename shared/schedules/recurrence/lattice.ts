import type { DueInstants } from './due-instants.ts'

/**
 * An instant every so often, counted from an anchor and not from the one before: whatever a tick was late by
 * moves none of those that follow. None comes before the anchor.
 */
export function lattice(anchorMs: number, everyMs: number): DueInstants {
  const atOrAfter = (ms: number) => Math.max(Math.ceil((ms - anchorMs) / everyMs), 0)
  const atOrBefore = (ms: number) => Math.floor((ms - anchorMs) / everyMs)
  const instant = (step: number) => ({ atMs: anchorMs + step * everyMs, shifted: false })
  const isNone = (fromMs: number, untilMs: number) => atOrAfter(fromMs) > atOrBefore(untilMs)
  return {
    first: (fromMs, untilMs) => (isNone(fromMs, untilMs) ? undefined : instant(atOrAfter(fromMs))),
    last: (fromMs, untilMs) => (isNone(fromMs, untilMs) ? undefined : instant(atOrBefore(untilMs))),
    count: (fromMs, untilMs) => Math.max(atOrBefore(untilMs) - atOrAfter(fromMs) + 1, 0),
  }
}
