import type { Routine } from '../../shared/sweeper/define.ts'
import type { DryRunResult, Outcome, RunResult } from '../../shared/sweeper/result.ts'
import type { ManualEvent } from '../runtime/event.ts'
import { addUp } from './add-up.ts'

/** What a drain by calls needs of the world. */
export interface DrainPorts {
  /** Invokes the deployed function and waits for its result. */
  readonly invoke: (event: ManualEvent) => Promise<RunResult | DryRunResult>
  /** Told before each call but the first: what the calls before it add up to. */
  readonly onCall: (done: RunResult, calls: number) => void
  readonly nowMs: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** Aborted when the drain is to end after the call that is under way. */
  readonly signal: AbortSignal
}

/** What the command answers: the last result, with the sums of all calls and how many there were. */
export type Drained = (RunResult | DryRunResult) & { readonly calls: number }

/**
 * Seconds that one call may begin batches for. The shortest timeout of a function is a minute, of which the
 * connection, the last batch with its retry and the report need a quarter.
 */
export const callSeconds = 45

/** So many calls in a row that did nothing leave the rest to whoever has the lock; and the wait between. */
const idle = { callsMax: 5, pauseMs: 2000 }

/** After these there is nothing to follow. */
const ends: readonly Outcome[] = ['drained', 'disabled', 'aborted']

/**
 * Drains a deployed function by one call after the other:
 *
 *     call ─┬─ drained, disabled, aborted ──────────────────────────────▶ the end, with that outcome
 *           ├─ stopped by a signal here, or the time is up ─────────────▶ the end: stopped, out_of_time
 *           ├─ bounded, out_of_time, handed_over, with something done ──▶ call again
 *           └─ contended, or nothing done ──▶ wait, call again ─five times─▶ the end, with that outcome
 *
 * A function that takes one batch a run is called once. Only the first call resets the breaker.
 */
export async function drainDeployed(sweep: Routine, asked: ManualEvent, ports: DrainPorts): Promise<Drained> {
  const endsMs = ports.nowMs() + (asked.maxSeconds ?? Infinity) * 1000
  const { resetBreaker, ...later } = asked
  let done: RunResult | undefined
  let idleCalls = 0
  for (let calls = 1; ; calls++) {
    const leftSeconds = Math.max(1, Math.ceil((endsMs - ports.nowMs()) / 1000))
    const event = calls === 1 ? { ...later, resetBreaker } : later
    const result = await ports.invoke({ ...event, maxSeconds: Math.min(callSeconds, leftSeconds) })
    if ('dryRun' in result) return { ...result, calls }
    done = done === undefined ? result : addUp(done, result)
    idleCalls = result.batches === 0 ? idleCalls + 1 : 0
    const isOver = ends.includes(result.outcome) || !sweep.drains || idleCalls >= idle.callsMax
    if (isOver) return { ...done, calls }
    if (ports.nowMs() >= endsMs) return { ...done, outcome: 'out_of_time', calls }
    if (idleCalls > 0) await ports.sleep(idle.pauseMs)
    if (ports.signal.aborted) return { ...done, outcome: 'stopped', calls }
    ports.onCall(done, calls)
  }
}
