import type { Invocation } from './invocation.ts'
import type { Outcome, RunResult } from './result.ts'
import type { Totals } from './totals.ts'

/** How an invocation ended, beside what it did. */
export interface Ending {
  readonly outcome: Outcome
  readonly pulses: number
  /** Rows left; null, or absent, where nobody counted. */
  readonly remaining?: number | null
}

/** The one object that an invocation returns and prints. */
export function report(
  { sweep, request, ports, startedMs, plan }: Invocation,
  totals: Totals,
  ending: Ending,
) {
  const { outcome, pulses, remaining = null } = ending
  const hasMoved = Object.keys(totals.byDisposition).length > 0
  const moved = hasMoved ? { byDisposition: totals.byDisposition, byActor: totals.byActor } : {}
  const quarantined = totals.quarantined.length > 0 ? { quarantined: totals.quarantined } : {}
  const aborted = totals.batchesAborted > 0 ? { batchesAborted: totals.batchesAborted } : {}
  const result: RunResult = {
    function: sweep.purpose,
    schema: request.settings.schemaName,
    trigger: request.trigger,
    outcome,
    pulses,
    batches: totals.batches,
    rows: totals.rows,
    ...moved,
    ...quarantined,
    batchSize: plan.batchSize,
    batchSizeConfigured: request.settings[sweep.batchSize],
    degraded: plan.isReduced,
    remaining,
    durationMs: Math.round(ports.nowMs() - startedMs),
    longestBatchMs: Math.round(totals.longestBatchMs * 100) / 100,
    ...aborted,
  }
  return result
}
