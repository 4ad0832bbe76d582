import { lockName, roleName } from '../core/names.ts'
import type { BatchOpening } from '../sql/connection.ts'
import type { Routine, Sweep } from './define.ts'
import type { DrainPlan, SelfDraining } from './drain.ts'
import type { RunPorts, RunRequest } from './ports.ts'
import type { Outcome } from './result.ts'

/** Commit, report, close: no batch begins that leaves less than this behind its transaction timeout. */
const reserveMs = 3000
/** How much longer than its statement a batch's transaction may live, on servers that bound it. */
const transactionSlackMs = 750

/** What can be run: a sweep by its arms, or a routine that drains by itself. */
export type Runnable = Sweep | SelfDraining

/** What one start of a function may do: bounds taken once from the request, the settings and the clock. */
export interface Invocation {
  readonly sweep: Runnable
  readonly request: RunRequest
  readonly ports: RunPorts
  readonly startedMs: number
  readonly plan: DrainPlan
  /** When its window closes on the measuring clock; undefined: it drains and leaves. */
  readonly windowEndsMs: number | undefined
}

export function planInvocation(sweep: Runnable, request: RunRequest, ports: RunPorts): Invocation {
  const { settings } = request
  const startedMs = ports.nowMs()
  const opening = openingOf(sweep, request)
  const batchesMax = request.maxBatches ?? settings.sweepDrainBatches
  const endsMs = request.maxSeconds === undefined ? Infinity : startedMs + request.maxSeconds * 1000
  const pulses = request.trigger === 'schedule' && sweep.pulse !== null && settings.invocationWindow > 0
  const windowEndsMs = pulses ? startedMs + settings.invocationWindow : undefined
  const platformLeftMs = () => ports.remainingMs() - opening.transactionTimeoutMs - reserveMs
  const leftMs = () =>
    Math.min(platformLeftMs(), endsMs - ports.nowMs(), (windowEndsMs ?? Infinity) - ports.nowMs())
  const mayNotBegin = (batches: number): Outcome | undefined => {
    if (ports.signal.aborted) return 'stopped'
    if (batches >= batchesMax) return 'bounded'
    return leftMs() < 0 ? 'out_of_time' : undefined
  }
  const batchSize = request.batchSize ?? settings[sweep.batchSize]
  const args = sweep.args(settings)
  const { nowMs, sleep, signal } = ports
  const plan = { opening, batchSize, isReduced: false, args, mayNotBegin, nowMs, leftMs, sleep, signal }
  return { sweep, request, ports, startedMs, plan, windowEndsMs }
}

/** The same with the reduced size, in which a function works whose breaker has latched. */
export function reduced(invocation: Invocation): Invocation {
  const { sweep, request, plan } = invocation
  const { settings } = request
  const part = Math.max(1, Math.floor(settings[sweep.batchSize] / settings.eventWriterReducedBatchDivisor))
  return { ...invocation, plan: { ...plan, batchSize: Math.min(plan.batchSize, part), isReduced: true } }
}

/** How a batch of this function is opened: under its own lock, its own timeouts and the settings' pins. */
export function openingOf(sweep: Routine, { settings }: RunRequest): BatchOpening {
  const statementTimeoutMs = settings[sweep.statementTimeout]
  return {
    lock: lockName(sweep.purpose, settings.schemaName),
    statementTimeoutMs,
    lockTimeoutMs: settings.batchLockTimeoutMs,
    idleTimeoutMs: settings.idleInTransactionTimeoutMs,
    transactionTimeoutMs: statementTimeoutMs + transactionSlackMs,
    role: roleName(settings, 'maintenance'),
    flushes: sweep.flushes,
    target: { installationId: settings.installationId, environment: settings.environment },
  }
}
