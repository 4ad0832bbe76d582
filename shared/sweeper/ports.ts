import type { Settings } from '../core/read-settings.ts'
import type { Connection } from '../sql/connection.ts'
import type { RunResult, Trigger } from './result.ts'

/** What a run needs of the world; the Lambda runtime, the command line and the tests each bring theirs. */
export interface RunPorts {
  /** Opens the one connection of an invocation; a pulse that slept long opens another. */
  readonly connect: () => Promise<Connection>
  /** A clock that only measures: milliseconds since any moment. What is due, the database says. */
  readonly nowMs: () => number
  /** Waits, or returns at once when the run is told to stop. */
  readonly sleep: (ms: number) => Promise<void>
  /** Milliseconds that the platform leaves this invocation. */
  readonly remainingMs: () => number
  /** Aborted when the run is to end after its current batch. */
  readonly signal: AbortSignal
  /** Is told what was committed before a run threw: a metric follows its commit, whatever follows that. */
  readonly interrupted?: (done: RunResult) => void
}

/** What an invocation was asked for. */
export interface RunRequest {
  readonly trigger: Trigger
  readonly settings: Settings
  readonly maxBatches?: number
  readonly batchSize?: number
  /** Ends the run after this many seconds, at a batch's end. */
  readonly maxSeconds?: number
  /** Only counts what would be taken; nothing at all is written, whatever else is asked. */
  readonly dryRun?: boolean
  /** Clears the breaker before the run, as `taskq functions reset` does. */
  readonly resetBreaker?: boolean
  /** Who asks and why, for the audit of what is changed beside the rows. */
  readonly requestedBy?: string
  readonly reason?: string
}
