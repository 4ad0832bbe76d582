import type { BatchOpened, Connection } from '../sql/connection.ts'
import { refuse } from './batch.ts'
import { type Drained, drain } from './drain.ts'
import { type Invocation, planInvocation, type Runnable, reduced } from './invocation.ts'
import { resetBreaker } from './operate.ts'
import type { RunPorts, RunRequest } from './ports.ts'
import { untilDue } from './pulse.ts'
import { report } from './report.ts'
import type { DryRunResult, RunResult } from './result.ts'
import { revive, type Session } from './session.ts'
import { readOne, readState } from './state.ts'
import { StateRecord } from './state-record.ts'
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
  sweep: Runnable,
  request: RunRequest,
  ports: RunPorts,
): Promise<RunResult | DryRunResult> {
  const invocation = planInvocation(sweep, request, ports)
  const session: Session = { connection: await ports.connect(), connect: ports.connect }
  try {
    if (request.dryRun === true) return await dryRun(invocation, session.connection)
    if (request.trigger === 'smoke') return await smoke(invocation, session.connection)
    return await pulse(invocation, session)
  } finally {
    await session.connection.close()
  }
}

async function pulse(planned: Invocation, session: Session): Promise<RunResult> {
  const { sweep, request, ports } = planned
  const totals = new Totals()
  const state = await readOne(session.connection, readState, { purpose: sweep.purpose })
  if (state.disabled || isOff(planned)) return report(planned, totals, { outcome: 'disabled', pulses: 0 })
  if (request.resetBreaker === true) await clearBreaker(planned, session.connection)
  const invocation = state.latched && request.resetBreaker !== true ? reduced(planned) : planned
  const record = new StateRecord(invocation, state.started_at, totals)
  let drained: Drained
  let pulses = 0
  try {
    do {
      pulses += 1
      drained = await ('arms' in sweep
        ? drain(sweep, session, invocation.plan, totals)
        : sweep.drain(session, invocation.plan, totals))
      if (drained.outcome === 'contended') return report(invocation, totals, { outcome: 'contended', pulses })
      // A timeout that ends the session leaves nothing to write the state with.
      await revive(session)
      if (pulses === 1) await record.write(session.connection, drained)
    } while (drained.outcome === 'drained' && (await untilDue(invocation, session, state.started_at)))
    if (record.isBehind(drained.outcome)) await record.write(session.connection, drained)
  } catch (error) {
    await record.fault(session.connection, error)
    const hasDone = totals.batches > 0 || totals.batchesAborted > 0
    if (hasDone) ports.interrupted?.(report(invocation, totals, { outcome: 'aborted', pulses }))
    throw error
  }
  // A drain that worked may have left rows behind that somebody has locked; an idle one asks nothing more.
  const isIdle = drained.outcome === 'drained' && totals.rows === 0
  const remaining = isIdle ? 0 : await countRemaining(invocation, session.connection)
  return report(invocation, totals, { outcome: drained.outcome, pulses, remaining })
}

/** Whether a setting of zero switches the function off. */
function isOff({ sweep, request }: Invocation): boolean {
  return sweep.offAtZero !== null && request.settings[sweep.offAtZero] === 0
}

/** In a batch of its own, attested as every other, which takes no lock: the reset is no run. */
async function clearBreaker({ sweep, request, plan }: Invocation, connection: Connection): Promise<void> {
  refuse(await connection.openBatch({ ...plan.opening, lock: null }), connection)
  const { requestedBy: principal = '', reason = null } = request
  await connection.run(resetBreaker, { purpose: sweep.purpose, principal, reason })
  await connection.commit()
}

/** What is left, counted under a batch's timeouts: a table that somebody has locked is not waited for. */
async function countRemaining(invocation: Invocation, connection: Connection): Promise<number | null> {
  try {
    return await looking(invocation, connection, null, () =>
      countEligible(invocation, connection, remainingMax),
    )
  } catch {
    // What cannot be counted is unknown, not none, and no reason to fail a run that has done its work.
    return null
  }
}

/** Reads in an attested transaction that is rolled back: whatever it may lock, it writes nothing. */
async function looking<T>(
  { plan }: Invocation,
  connection: Connection,
  lock: string | null,
  look: (opened: BatchOpened) => Promise<T>,
): Promise<T> {
  try {
    const opened = await connection.openBatch({ ...plan.opening, lock })
    refuse(opened, connection)
    return await look(opened)
  } finally {
    await connection.rollback()
  }
}

/** What it would take in all, up to a number. */
async function countEligible(
  { sweep, plan }: Invocation,
  connection: Connection,
  max: number,
): Promise<number> {
  const counts = 'arms' in sweep ? sweep.arms.map(arm => arm.eligible) : sweep.eligible
  let counted = 0
  for (const eligible of counts) {
    if (counted >= max) break
    counted += (await readOne(connection, eligible, { ...plan.args, max: max - counted })).eligible
  }
  return counted
}

/** Counts what a run would take; nothing is locked, nothing written. */
async function dryRun(invocation: Invocation, connection: Connection): Promise<DryRunResult> {
  const { sweep, request } = invocation
  const eligible = await looking(invocation, connection, null, async () =>
    isOff(invocation) ? 0 : countEligible(invocation, connection, eligibleMax),
  )
  const { settings, trigger } = request
  return { function: sweep.purpose, schema: settings.schemaName, trigger, dryRun: true, eligible }
}

/** What a deployment asks of each function: connect, attest, lock, look at one page; write nothing. */
async function smoke(invocation: Invocation, connection: Connection): Promise<RunResult> {
  return looking(invocation, connection, invocation.plan.opening.lock, async opened => {
    await countEligible(invocation, connection, 1)
    const outcome = opened === 'locked' ? 'drained' : 'contended'
    return report(invocation, new Totals(), { outcome, pulses: 0 })
  })
}
