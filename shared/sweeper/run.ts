import { WrongTargetError } from '../core/errors.ts'
import { storableError } from '../core/text.ts'
import type { Connection } from '../sql/connection.ts'
import type { Sweep } from './define.ts'
import { type Drained, drain } from './drain.ts'
import { type Invocation, planInvocation } from './invocation.ts'
import type { RunPorts, RunRequest } from './ports.ts'
import { type Session, untilDue } from './pulse.ts'
import { type DryRunResult, isSuccess, type Outcome, type RunResult } from './result.ts'
import { readOne, readState, writeState } from './state.ts'
import { Totals } from './totals.ts'

/** How far a dry run and a report of what remains count. */
const eligibleMax = 1_000_000
export const remainingMax = 10_000

/**
 * One invocation of a scheduled function, whoever starts it: the Lambda, the command line or a test.
 *
 *     read state ▶ drain ▶ write state ▶ due inside the window? ▶ sleep until then ▶ drain … ▶ report
 *
 * An idle run reads one page of its index and writes one row, its state. A run that found its lock taken, or
 * that is switched off, writes nothing. What cannot go on is thrown, so that the platform counts it: no
 * connection, the wrong target, a defect.
 */
export async function run(
  sweep: Sweep,
  request: RunRequest,
  ports: RunPorts,
): Promise<RunResult | DryRunResult> {
  const invocation = planInvocation(sweep, request, ports)
  const session: Session = { connection: await ports.connect() }
  try {
    if (request.dryRun === true) return await dryRun(invocation, session.connection)
    if (request.trigger === 'smoke') return await smoke(invocation, session.connection)
    return await pulse(invocation, session)
  } finally {
    await session.connection.close()
  }
}

async function pulse(invocation: Invocation, session: Session): Promise<RunResult> {
  const { sweep, ports } = invocation
  const totals = new Totals()
  const state = await readOne(session.connection, readState, { purpose: sweep.purpose })
  const record = new StateRecord(invocation, state.started_at, totals)
  const reportOf = (outcome: Outcome, pulses: number, remaining: number | null) =>
    report(invocation, totals, { outcome, pulses, remaining, degraded: state.latched })
  if (state.disabled) return reportOf('disabled', 0, null)
  let drained: Drained
  let pulses = 0
  try {
    do {
      pulses += 1
      drained = await drain(sweep, session.connection, invocation.plan, totals)
      if (drained.outcome === 'contended') return reportOf('contended', pulses, null)
      // A timeout that ends the session leaves nothing to write the state with.
      if (!session.connection.usable) session.connection = await ports.connect()
      if (pulses === 1) await record.write(session.connection, drained)
    } while (drained.outcome === 'drained' && (await untilDue(invocation, session, state.started_at)))
    if (record.isBehind(drained.outcome)) await record.write(session.connection, drained)
  } catch (error) {
    await record.fault(session.connection, error)
    if (totals.batches > 0) ports.interrupted?.(reportOf('aborted', pulses, null))
    throw error
  }
  // A drain that worked may have left rows behind that somebody has locked; an idle one asks nothing more.
  const isIdle = drained.outcome === 'drained' && totals.rows === 0
  return reportOf(drained.outcome, pulses, isIdle ? 0 : await countRemaining(sweep, session.connection))
}

/** The function's row of state, as this run has written it so far. */
class StateRecord {
  #writes = 0
  #rows = 0
  #outcome: Outcome | undefined
  readonly #invocation: Invocation
  readonly #startedAt: string
  readonly #totals: Totals

  constructor(invocation: Invocation, startedAt: string, totals: Totals) {
    this.#invocation = invocation
    this.#startedAt = startedAt
    this.#totals = totals
  }

  isBehind(outcome: Outcome): boolean {
    return this.#rows !== this.#totals.rows || this.#outcome !== outcome
  }

  async write(connection: Connection, { outcome, error }: Drained): Promise<void> {
    const { sweep, request, batchSize } = this.#invocation
    await connection.run(writeState, {
      purpose: sweep.purpose,
      startedAt: this.#startedAt,
      isSuccess: isSuccess(outcome),
      outcome,
      rows: this.#totals.rows,
      rowsAdded: this.#totals.rows - this.#rows,
      batchSize,
      batchSizeConfigured: request.settings[sweep.batchSize],
      error: error === undefined ? null : storableError(error).message,
      isFirstWrite: this.#writes === 0,
    })
    this.#writes += 1
    this.#rows = this.#totals.rows
    this.#outcome = outcome
  }

  /** Leaves a trace of what is about to be thrown, where the connection still can. */
  async fault(connection: Connection, error: unknown): Promise<void> {
    if (!connection.usable || error instanceof WrongTargetError) return
    await this.write(connection, { outcome: 'aborted', error }).catch(() => undefined)
  }
}

async function countRemaining(sweep: Sweep, connection: Connection): Promise<number | null> {
  // What cannot be counted is unknown, not none, and no reason to fail a run that has done its work.
  const counted = await readOne(connection, sweep.eligible, { max: remainingMax }).catch(() => null)
  return counted === null ? null : counted.eligible
}

interface Ending {
  readonly outcome: Outcome
  readonly pulses: number
  readonly remaining: number | null
  readonly degraded: boolean
}

function report(
  { sweep, request, ports, startedMs, batchSize }: Invocation,
  totals: Totals,
  ending: Ending,
): RunResult {
  const { outcome, pulses, remaining, degraded } = ending
  const moved = totals.rows > 0 ? { byDisposition: totals.byDisposition, byActor: totals.byActor } : {}
  const aborted = totals.batchesAborted > 0 ? { batchesAborted: totals.batchesAborted } : {}
  return {
    function: sweep.purpose,
    schema: request.settings.schemaName,
    trigger: request.trigger,
    outcome,
    pulses,
    batches: totals.batches,
    rows: totals.rows,
    ...moved,
    batchSize,
    batchSizeConfigured: request.settings[sweep.batchSize],
    degraded,
    remaining,
    durationMs: Math.round(ports.nowMs() - startedMs),
    longestBatchMs: Math.round(totals.longestBatchMs * 100) / 100,
    ...aborted,
  }
}

/** Counts what a run would take, in a transaction that is rolled back: nothing is locked, nothing written. */
async function dryRun({ sweep, request, plan }: Invocation, connection: Connection): Promise<DryRunResult> {
  const opened = await connection.openBatch({ ...plan.opening, lock: null })
  try {
    if (opened === 'wrong_target') throw new WrongTargetError(connection.schema)
    const { eligible } = await readOne(connection, sweep.eligible, { max: eligibleMax })
    const { settings, trigger } = request
    return { function: sweep.purpose, schema: settings.schemaName, trigger, dryRun: true, eligible }
  } finally {
    await connection.rollback()
  }
}

/** What a deployment asks of each function: connect, attest, lock, look at one page; write nothing. */
async function smoke(invocation: Invocation, connection: Connection): Promise<RunResult> {
  const { sweep, plan } = invocation
  const opened = await connection.openBatch(plan.opening)
  try {
    if (opened === 'wrong_target') throw new WrongTargetError(connection.schema)
    await readOne(connection, sweep.eligible, { max: 1 })
    const outcome = opened === 'locked' ? 'drained' : 'contended'
    return report(invocation, new Totals(), { outcome, pulses: 0, remaining: null, degraded: false })
  } finally {
    await connection.rollback()
  }
}
