import type { Status } from '../core/status.ts'
import type { ClaimAnswer } from './claim.ts'
import type { SettledAs } from './settler.ts'

/** How a worker itself is, at this moment. */
export interface WorkerVitals {
  readonly state: 'working' | 'stopping' | 'stopped'
  readonly workerId: string
  /** Handlers that run. */
  readonly running: number
  /** Jobs by how they were settled, since the start. */
  readonly settled: Readonly<Record<SettledAs, number>>
  /** What the last claim found. */
  readonly found: ClaimAnswer['found'] | undefined
  /** Heartbeats, and claims, that failed in a row. */
  readonly heartbeatFailures: number
  readonly claimFailures: number
  /** Repairs that failed, since the start. */
  readonly repairErrors: number
}

/** The status of the queue, as `taskq status` prints it, and of the worker that was asked. */
export interface WorkerHealth extends Status {
  readonly worker: WorkerVitals
}
