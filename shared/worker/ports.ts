import type { Connection } from '../sql/connection.ts'

/** What a worker needs of the world; the Lambda entry, the long-lived one and the tests bring theirs. */
export interface WorkerPorts {
  /** Opens a connection on which a statement is given up after so many milliseconds. */
  readonly connect: (queryTimeoutMs: number) => Promise<Connection>
  /** A clock that only measures: milliseconds since any moment. What is due, the database says. */
  readonly nowMs: () => number
  /** Waits; ends at once, without an error, when the signal is aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** Lets the event loop turn once, so that what ends together is settled together. */
  readonly turn: () => Promise<void>
  /** Is told of trouble that the worker outlives. */
  readonly report: (trouble: Trouble) => void
}

/**
 * The same ports with a report that cannot fail: what an application does when it is told of trouble must
 * not become trouble of the worker's, which would stop settling while its handlers run on.
 */
export function withSafeReport(ports: WorkerPorts): WorkerPorts {
  const report = (trouble: Trouble) => {
    // An asynchronous report may reject, too.
    void (async () => ports.report(trouble))().catch(() => undefined)
  }
  return { ...ports, report }
}

export interface Trouble {
  readonly during: 'claim' | 'repair' | 'presence' | 'heartbeat' | 'settle' | 'stop'
  readonly error: unknown
}
