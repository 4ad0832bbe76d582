import { WrongTargetError } from '../core/errors.ts'
import type { BatchOpened, BatchOpening, Connection } from '../sql/connection.ts'
import { classify, codeOf } from '../sql/failures.ts'
import { type BatchRow, noFloor, type Sweep, type WindowArgs } from './define.ts'
import type { Outcome } from './result.ts'
import type { Totals } from './totals.ts'

/** How one drain goes about it. */
export interface DrainPlan {
  readonly opening: BatchOpening
  readonly batchSize: number
  /** What the statement needs beside its window. */
  readonly args: Readonly<Record<string, unknown>>
  /** Why no further batch may begin after so many; undefined: one may. */
  readonly mayNotBegin: (batches: number) => Outcome | undefined
  readonly nowMs: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/** How a drain ended; `error` is what the server ended the last batch with. */
export interface Drained {
  readonly outcome: Outcome
  readonly error?: unknown
}

/** Tries of one batch that lost a deadlock, a serialization or a lock wait. */
const triesMax = 3
/** How long a run that has worked asks for a lock that another holds, before it leaves the rest to it. */
const handOverMs = 500
const askAgainMs = 20

/**
 * Drains what is due, one committed batch after the other:
 *
 *     open ──locked──▶ statement ──short, no floor──▶ commit ──▶ drained
 *      │                   │
 *      │                   ├──full, or short behind a floor──▶ commit, and open the next ──▶ statement …
 *      │                   └──ended by the server──▶ roll back; transient: again, three tries ──▶ aborted
 *      └──held elsewhere──▶ contended; handed_over once something was done
 *
 * It ends when a window was not full, never by the number of rows changed: a claimer may have taken some.
 * A short window behind a floor is followed by one without, which also sees what was locked before.
 * However it ends, by an error too, every batch that was committed stays and is in `totals`.
 */
export async function drain(
  sweep: Sweep,
  connection: Connection,
  plan: DrainPlan,
  totals: Totals,
): Promise<Drained> {
  const early = plan.mayNotBegin(totals.batches)
  if (early !== undefined) return { outcome: early }
  let window: WindowArgs = { limit: plan.batchSize, ...noFloor }
  let opened: BatchOpened | undefined
  for (let tries = 1; ; ) {
    const begunMs = plan.nowMs()
    try {
      opened ??= await open(connection, plan, totals.batches > 0)
      if (opened !== 'locked') return notLocked(connection, opened, totals.batches > 0)
      const batch = await runBatch(sweep, connection, plan, window)
      const next = nextWindow(sweep, batch, window)
      const ending = next === undefined ? 'drained' : plan.mayNotBegin(totals.batches + 1)
      if (next === undefined || ending !== undefined) {
        await connection.commit()
        totals.add(batch, plan.nowMs() - begunMs)
        return { outcome: ending ?? 'drained' }
      }
      opened = await chain(connection, plan)
      totals.add(batch, plan.nowMs() - begunMs)
      window = next
      tries = 1
    } catch (error) {
      await connection.rollback()
      const failure = classify(error)
      if (failure === 'lost' || failure === 'fault') throw error
      totals.batchesAborted += 1
      if (failure !== 'transient' || tries === triesMax) return { outcome: 'aborted', error }
      opened = undefined
      tries += 1
      await plan.sleep(askAgainMs * Math.random())
    }
  }
}

async function runBatch(
  sweep: Sweep,
  connection: Connection,
  plan: DrainPlan,
  window: WindowArgs,
): Promise<BatchRow> {
  const [batch] = await connection.run(sweep.batch, { ...plan.args, ...window })
  if (batch === undefined) throw new Error(`${sweep.purpose} returned no row`)
  return batch
}

/** Where the next window begins; undefined: this one ended the drain. */
function nextWindow(sweep: Sweep, batch: BatchRow, window: WindowArgs): WindowArgs | undefined {
  if (!sweep.drains) return undefined
  const { limit } = window
  const isFull = batch.taken >= limit
  if (isFull && batch.floor_at !== null && batch.floor_id !== null) {
    return { limit, floorAt: batch.floor_at, floorId: batch.floor_id }
  }
  return window.floorAt === noFloor.floorAt ? undefined : { limit, ...noFloor }
}

/** Opens a batch. A run that has worked asks again for a while, since the lock belongs to a batch alone. */
async function open(connection: Connection, plan: DrainPlan, hasWorked: boolean): Promise<BatchOpened> {
  for (let waitedMs = 0; ; waitedMs += askAgainMs) {
    const opened = await connection.openBatch(plan.opening)
    if (opened !== 'contended' || !hasWorked || waitedMs >= handOverMs) return opened
    await connection.rollback()
    await plan.sleep(askAgainMs)
  }
}

/** The one failure of an opening that a healthy system knows: a migration holds the installation's table. */
const lockNotAvailable = '55P03'

/**
 * Commits and opens the next batch in one message. Where only the opening had to give a lock up, the commit
 * before it stands: the batch counts, and the next one is opened by itself. Any other failure may be the
 * commit's own, and nothing counts that is not known to be committed.
 */
async function chain(connection: Connection, plan: DrainPlan): Promise<BatchOpened | undefined> {
  try {
    const opened = await connection.chainBatch(plan.opening)
    if (opened !== 'contended') return opened
  } catch (error) {
    if (codeOf(error) !== lockNotAvailable) throw error
  }
  await connection.rollback()
  return undefined
}

async function notLocked(connection: Connection, opened: BatchOpened, hasWorked: boolean): Promise<Drained> {
  await connection.rollback()
  if (opened === 'wrong_target') throw new WrongTargetError(connection.schema)
  return { outcome: hasWorked ? 'handed_over' : 'contended' }
}
