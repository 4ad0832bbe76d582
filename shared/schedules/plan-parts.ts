import type { Part } from './firing.ts'
import { type Plan, type PlanBounds, plan } from './planner.ts'

/** A plan, and the part whose answers it follows. */
export interface PlanOfPart extends Plan {
  readonly part: Part
}

/**
 * Plans a schedule through its edits, one part at a time: that of the first undecided instant, up to the
 * first instant of another. So what fell due before an edit is decided by what was said then, and the next
 * tick goes on with what is said now. Undefined: no instant comes any more, by any part.
 */
export function planParts(
  parts: readonly Part[],
  cursorMs: number,
  bounds: PlanBounds,
): PlanOfPart | undefined {
  const coming = parts.flatMap(part => {
    const first = part.recurrence.next(cursorMs - 1)
    return first === undefined ? [] : [{ part, atMs: first.atMs }]
  })
  const [active, ...others] = coming.sort((one, other) => one.atMs - other.atMs)
  if (active === undefined) return undefined
  const { part } = active
  const [next] = others
  const asOfMs = next === undefined ? bounds.asOfMs : Math.min(bounds.asOfMs, next.atMs - 1)
  // How late an instant is goes by the clock, and not by where its part ends.
  const latenessToleranceMs = bounds.latenessToleranceMs - (bounds.asOfMs - asOfMs)
  const owing = { recurrence: part.recurrence, cursorMs, missed: part.missed }
  const planned = plan(owing, { ...bounds, asOfMs, latenessToleranceMs })
  const ends = [planned.cursorToMs, next?.atMs ?? null].filter(ms => ms !== null)
  return { ...planned, cursorToMs: ends.length === 0 ? null : Math.min(...ends), part }
}
