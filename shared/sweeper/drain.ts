import type { Connection } from '../sql/connection.ts'
import { classify, isOfOneRow } from '../sql/failures.ts'
import type { Statement } from '../sql/statement.ts'
import { askAgainMs, type BatchPlan, chain, open, refuse } from './batch.ts'
import { type Arm, type BatchRow, type Routine, type Sweep, type WindowArgs, wholeWindow } from './define.ts'
import { Narrowing } from './narrowing.ts'
import type { Outcome } from './result.ts'
import { revive, type Session } from './session.ts'
import { setAside, setAsideMax } from './set-aside.ts'
import type { Totals } from './totals.ts'

/** How one drain goes about it. */
export interface DrainPlan extends BatchPlan {
  readonly batchSize: number
  /** Whether the size is the reduced one: then a batch that runs out of time is a matter of its rows. */
  readonly isReduced: boolean
  /** What the statements need beside their window. */
  readonly args: Readonly<Record<string, unknown>>
  /** Why no further batch may begin after so many; undefined: one may. */
  readonly mayNotBegin: (batches: number) => Outcome | undefined
  readonly nowMs: () => number
  /** Milliseconds until no further batch may begin; it may be negative. */
  readonly leftMs: () => number
  /** Aborted when the run is to end after its current batch. */
  readonly signal: AbortSignal
}

/** A routine that goes about its batches by itself: what the engine asks of it. */
export interface SelfDraining extends Routine {
  /** Counts what it would take, up to a number; nothing is locked. */
  readonly eligible: readonly Statement<{ eligible: number }, { max: number }>[]
  /** Does what can be done before something falls due, in the second before it; it writes nothing. */
  readonly prepare: (connection: Connection) => Promise<void>
  /** Works until nothing is due any more, or the plan says that no further batch may begin. */
  readonly drain: (session: Session, plan: DrainPlan, totals: Totals) => Promise<Drained>
}

/** How a drain ended; `error` is what the server ended the last batch with. */
export interface Drained {
  readonly outcome: Outcome
  readonly error?: unknown
}

/** Tries of one batch that lost a deadlock, a serialization or a lock wait. */
const triesMax = 3

/**
 * Drains what is due, arm by arm, each to its end or for one batch. One arm's failure keeps no other from
 * its turn; it is thrown, or is the outcome, when all had theirs.
 */
export async function drain(
  sweep: Sweep,
  session: Session,
  plan: DrainPlan,
  totals: Totals,
): Promise<Drained> {
  let worst: Drained = { outcome: 'drained' }
  let fault: { readonly error: unknown } | undefined
  for (const arm of sweep.arms) {
    try {
      await revive(session)
      const drained = await new ArmDrain(sweep, arm, session, plan, totals).run()
      if (isOver(drained.outcome)) {
        worst = drained
        break
      }
      if (drained.outcome !== 'drained' && worst.outcome !== 'aborted') worst = drained
    } catch (error) {
      if (classify(error) === 'lost' || sweep.arms.length === 1) throw error
      fault ??= { error }
    }
  }
  if (fault !== undefined) throw fault.error
  return worst
}

/** Whether an outcome is the run's, and not one arm's alone. */
const isOver = (outcome: Outcome) => !['drained', 'bounded', 'aborted'].includes(outcome)

/**
 * Drains one arm, one committed batch after the other:
 *
 *     open ──locked──▶ statement ──short, no floor──▶ commit ──▶ drained
 *      │                   │
 *      │                   ├──full, or short behind a floor──▶ commit, and open the next ──▶ statement …
 *      │                   └──failed──▶ roll back ─┬─ transient: again, three tries ──▶ aborted
 *      └──held elsewhere──▶ contended;             ├─ out of time: aborted
 *         handed_over once something was done      └─ a row's own: half as many, down to that row ──▶ set
 *                                                     aside, and on
 *
 * It ends when a window was not full, never by the number of rows changed: a claimer may have taken some.
 * A short window behind a floor is followed by one without, which also sees what was locked before.
 * However it ends, by an error too, every batch that was committed stays and is in `totals`.
 */
class ArmDrain {
  readonly #sweep: Sweep
  readonly #arm: Arm
  readonly #session: Session
  readonly #plan: DrainPlan
  readonly #totals: Totals
  readonly #narrowing: Narrowing
  #window: WindowArgs
  #tries = 1
  #isOpen = false
  /** Whether what fails now may be a row: its statement was sent, and its commit not yet done. */
  #isAtRows = false

  constructor(sweep: Sweep, arm: Arm, session: Session, plan: DrainPlan, totals: Totals) {
    this.#sweep = sweep
    this.#arm = arm
    this.#session = session
    this.#plan = plan
    this.#totals = totals
    this.#narrowing = new Narrowing(plan.batchSize)
    this.#window = { ...wholeWindow, limit: plan.batchSize }
  }

  async run(): Promise<Drained> {
    const early = this.#plan.mayNotBegin(this.#totals.batches)
    if (early !== undefined) return { outcome: early }
    for (;;) {
      let ended: Drained | undefined
      try {
        ended = await this.#batch()
      } catch (error) {
        ended = await this.#failed(error)
      }
      if (ended !== undefined) return ended
    }
  }

  /** One batch, to its commit; answers how the drain ended, or undefined where it goes on. */
  async #batch(): Promise<Drained | undefined> {
    const { connection } = this.#session
    const { nowMs } = this.#plan
    const begunMs = nowMs()
    const hasWorked = this.#totals.batches > 0
    // A statement that the client gave up may hold the lock until the server ends it, too.
    this.#isOpen ||= await open(connection, this.#plan, hasWorked || this.#narrowing.isNarrowed)
    if (!this.#isOpen) return { outcome: hasWorked ? 'handed_over' : 'contended' }
    if (this.#narrowing.isAlone) await this.#nameSuspect()
    this.#isAtRows = true
    const [batch] = await connection.run(this.#arm.batch, { ...this.#plan.args, ...this.#window })
    if (batch === undefined) throw new Error(`${this.#arm.batch.name} returned no row`)
    const ending = this.#endingAfter(batch)
    if (ending === undefined) {
      const opened = await chain(connection, this.#plan)
      this.#isOpen = opened === 'locked'
      this.#passed(batch, nowMs() - begunMs)
      refuse(opened, connection)
      return undefined
    }
    await connection.commit()
    this.#passed(batch, nowMs() - begunMs)
    return { outcome: ending }
  }

  /** How the drain ends after this batch; undefined: it goes on. */
  #endingAfter(batch: BatchRow): Outcome | undefined {
    const { limit, floorAt, only } = this.#window
    const isFull = batch.taken >= limit
    if (!this.#sweep.drains) return isFull ? 'bounded' : 'drained'
    const isLast = !isFull && floorAt === wholeWindow.floorAt && only === null
    return isLast ? 'drained' : this.#plan.mayNotBegin(this.#totals.batches + 1)
  }

  /** Counts a batch that is committed, and moves on to the next window. */
  #passed(batch: BatchRow, durationMs: number): void {
    this.#totals.add(batch, durationMs)
    this.#tries = 1
    this.#isAtRows = false
    const { limit, only } = this.#window
    this.#narrowing.passed(batch.taken)
    const next = { ...this.#window, limit: this.#narrowing.size, only: null }
    if (batch.taken < limit && only === null) this.#window = { ...next, ...wholeWindow }
    else {
      const { floor_at: floorAt, floor_id: floorId } = batch
      this.#window = floorAt === null ? next : { ...next, floorAt, floorId: floorId ?? wholeWindow.floorId }
    }
  }

  /** Asks which row it is that a window of one would take, so that it is that row which fails, or no row. */
  async #nameSuspect(): Promise<void> {
    const { head } = this.#sweep
    const [row] = head === null ? [] : await this.#session.connection.run(head, this.#window)
    if (row === undefined) this.#narrowing.found()
    this.#window = { ...this.#window, limit: this.#narrowing.size, only: row?.id ?? null }
  }

  /** What becomes of a batch that did not commit; answers how the drain ended, or undefined. */
  async #failed(error: unknown): Promise<Drained | undefined> {
    this.#isOpen = false
    await this.#session.connection.rollback()
    const failure = classify(error)
    const isOfRows = this.#isOfRows(failure, error)
    this.#isAtRows = false
    if (failure === 'transient' || failure === 'timeout' || failure === 'idle')
      this.#totals.batchesAborted += 1
    if (failure === 'transient' && this.#tries < triesMax) {
      this.#tries += 1
      await this.#plan.sleep(askAgainMs * Math.random())
      return undefined
    }
    if (!isOfRows) {
      if (failure === 'lost' || failure === 'fault') throw error
      return { outcome: 'aborted', error }
    }
    if (this.#plan.mayNotBegin(this.#totals.batches) !== undefined) return { outcome: 'aborted', error }
    await revive(this.#session)
    return this.#narrow(error)
  }

  /** Whether a failure may be that of some row in the window, which can then be found. */
  #isOfRows(failure: ReturnType<typeof classify>, error: unknown): boolean {
    if (this.#sweep.head === null || !this.#isAtRows) return false
    if (failure === 'fault') return isOfOneRow(error)
    return failure === 'timeout' && (this.#plan.isReduced || this.#narrowing.isNarrowed)
  }

  /** Halves the window, down to one row; the row that fails by itself is set aside. */
  async #narrow(error: unknown): Promise<Drained | undefined> {
    const { only } = this.#window
    if (only === null) this.#narrowing.failed()
    else {
      if (this.#totals.quarantined.length >= setAsideMax.run) throw error
      const row = { purpose: this.#sweep.purpose, rowKey: only, error }
      if (!(await setAside(this.#session.connection, this.#plan, row))) return { outcome: 'handed_over' }
      this.#totals.quarantined.push(only)
      this.#narrowing.found()
    }
    this.#window = { ...this.#window, limit: this.#narrowing.size, only: null }
    return undefined
  }
}
