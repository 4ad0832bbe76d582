import type { ClaimAnswer } from './claim.ts'
import type { SettledAs } from './settler.ts'

/** How a worker is, at this moment. */
export interface WorkerHealth {
  readonly state: 'working' | 'stopping' | 'stopped'
  /** False once its heartbeats or claims fail. */
  readonly healthy: boolean
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
