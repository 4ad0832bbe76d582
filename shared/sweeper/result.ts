/** How an invocation ended; only the first five are successes. */
export const outcomes = [
  'drained',
  'bounded',
  'out_of_time',
  'stopped',
  'handed_over',
  'contended',
  'disabled',
  'aborted',
] as const

export type Outcome = (typeof outcomes)[number]

const successes: readonly Outcome[] = ['drained', 'bounded', 'out_of_time', 'stopped', 'handed_over']

/** Whether an outcome counts as work done: it alone moves `last_success_at`. */
export function isSuccess(outcome: Outcome): boolean {
  return successes.includes(outcome)
}

export type Trigger = 'schedule' | 'manual' | 'smoke'

/** What one invocation returns, prints and is judged by. Times are in milliseconds. */
export interface RunResult {
  readonly function: string
  readonly schema: string
  readonly trigger: Trigger
  readonly outcome: Outcome
  readonly pulses: number
  readonly batches: number
  readonly rows: number
  /** Rows by the way they went; absent where none moved. */
  readonly byDisposition?: Readonly<Record<string, number>>
  /** The same by actor: the twenty with most rows, the rest under `_other_`. */
  readonly byActor?: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** The keys of the rows that were set aside, because each failed by itself; absent where none was. */
  readonly quarantined?: readonly string[]
  /** The most rows a batch may have taken: a part of the configured size while the breaker is latched. */
  readonly batchSize: number
  readonly batchSizeConfigured: number
  /** Whether the breaker is latched. */
  readonly degraded: boolean
  /** Rows left, counted up to 10,000; null where unknown. */
  readonly remaining: number | null
  readonly durationMs: number
  readonly longestBatchMs: number
  /** Batches that the server ended, retried ones included; absent where none was. */
  readonly batchesAborted?: number
}

/** What a dry run returns: nothing was locked and nothing written. */
export interface DryRunResult {
  readonly function: string
  readonly schema: string
  readonly trigger: Trigger
  readonly dryRun: true
  /** Rows that a run would take, counted up to a million. */
  readonly eligible: number
}
