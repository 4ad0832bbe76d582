import type { RunResult } from '../../shared/sweeper/result.ts'

type Ways = Readonly<Record<string, number>>

/** A result and the one after it as one: how the last ended, and what both did. */
export function addUp(before: RunResult, last: RunResult): RunResult {
  const byDisposition = sumOf(before.byDisposition, last.byDisposition)
  const actors = Object.keys({ ...before.byActor, ...last.byActor })
  const byActor = actors.map(actor => [actor, sumOf(before.byActor?.[actor], last.byActor?.[actor])] as const)
  const quarantined = [...new Set([...(before.quarantined ?? []), ...(last.quarantined ?? [])])]
  const batchesAborted = (before.batchesAborted ?? 0) + (last.batchesAborted ?? 0)
  return {
    ...last,
    pulses: before.pulses + last.pulses,
    batches: before.batches + last.batches,
    rows: before.rows + last.rows,
    ...(Object.keys(byDisposition).length > 0 && { byDisposition }),
    ...(actors.length > 0 && { byActor: Object.fromEntries(byActor) }),
    ...(quarantined.length > 0 && { quarantined }),
    durationMs: before.durationMs + last.durationMs,
    longestBatchMs: Math.max(before.longestBatchMs, last.longestBatchMs),
    ...(batchesAborted > 0 && { batchesAborted }),
  }
}

function sumOf(one: Ways = {}, other: Ways = {}): Ways {
  const ways = Object.keys({ ...one, ...other })
  return Object.fromEntries(ways.map(way => [way, (one[way] ?? 0) + (other[way] ?? 0)]))
}
