import type { DueInstants, Instant } from './due-instants.ts'
import type { WallPattern } from './wall-pattern.ts'
import type { Segment, Zone } from './zone.ts'

const dayMs = 86_400_000

/**
 * Wall times in a zone as instants. Within a segment of constant offset one is the other, moved by it; what
 * is left is the policy for the seams:
 *
 *     a pace     every wall time that the segment shows, so a fold repeats and a gap skips
 *     a list     a wall time is due when the clock shows it or has passed it for the first time: nothing that
 *                was reached before the segment, and what its gap left out at once, as one instant, where the
 *                segment starts. That instant is `shifted` even where a listed time stands there by itself.
 *
 * Segments without anything are leapt over by the pattern's next date. A day is the margin of each leap: no
 * zone is so far from Greenwich, so what is due near a wall time lies within a day of it.
 */
export function zonedPattern(pattern: WallPattern, zone: Zone): DueInstants {
  const part = (segment: Segment, fromMs: number, untilMs: number) =>
    partOf(pattern, segment, fromMs, untilMs)
  return {
    first(fromMs, untilMs) {
      for (let atMs = fromMs; atMs <= untilMs; ) {
        const segment = zone.segmentAt(atMs)
        const found = part(segment, atMs, untilMs).first()
        if (found !== undefined) return found
        const wallMs = pattern.first(segment.untilMs - dayMs)
        if (wallMs === undefined) return undefined
        atMs = Math.max(segment.untilMs, wallMs - dayMs)
      }
      return undefined
    },
    last(fromMs, untilMs) {
      for (let atMs = untilMs; atMs >= fromMs; ) {
        const segment = zone.segmentAt(atMs)
        const found = part(segment, fromMs, atMs).last()
        if (found !== undefined) return found
        const wallMs = pattern.last(segment.fromMs + dayMs)
        if (wallMs === undefined) return undefined
        atMs = Math.min(segment.fromMs - 1, wallMs + dayMs)
      }
      return undefined
    },
    count(fromMs, untilMs) {
      let count = 0
      for (let atMs = fromMs; atMs <= untilMs; ) {
        const segment = zone.segmentAt(atMs)
        count += part(segment, fromMs, untilMs).count()
        atMs = segment.untilMs
      }
      return count
    },
  }
}

/** What is due in a segment between two instants, both included, of which the second is not before it. */
function partOf(pattern: WallPattern, segment: Segment, fromMs: number, untilMs: number) {
  const { offsetMs, reachedMs } = segment
  const startWallMs = segment.fromMs + offsetMs
  const isListed = pattern.kind === 'listed'
  const isLanding = isListed && fromMs <= segment.fromMs && pattern.count(reachedMs, startWallMs) > 0
  const landing: Instant | undefined = isLanding ? { atMs: segment.fromMs, shifted: true } : undefined
  // After a landing its own wall time is spent.
  const openMs = isLanding ? startWallMs + 1 : isListed ? Math.max(startWallMs, reachedMs) : startWallMs
  const lowMs = Math.max(fromMs + offsetMs, openMs)
  const highMs = Math.min(untilMs + 1, segment.untilMs) + offsetMs
  const instant = (wallMs: number): Instant => ({ atMs: wallMs - offsetMs, shifted: false })
  return {
    first(): Instant | undefined {
      const wallMs = landing ? undefined : pattern.first(lowMs)
      return wallMs === undefined || wallMs >= highMs ? landing : instant(wallMs)
    },
    last(): Instant | undefined {
      const wallMs = pattern.last(highMs)
      return wallMs === undefined || wallMs < lowMs ? landing : instant(wallMs)
    },
    count: () => (landing ? 1 : 0) + pattern.count(lowMs, highMs),
  }
}
