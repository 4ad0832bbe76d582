import type { Settings } from '../../core/read-settings.ts'
import { classify, isOfOneRow } from '../../sql/failures.ts'
import { askAgainMs, open } from '../../sweeper/batch.ts'
import type { Drained, DrainPlan } from '../../sweeper/drain.ts'
import { revive, type Session } from '../../sweeper/session.ts'
import type { Totals } from '../../sweeper/totals.ts'
import { type Fired, fire, type PlannedFire } from './fire.ts'
import { troubleOf } from './plan-schedule.ts'
import { isVain, tallied } from './tallied.ts'
import { noteTrouble, type Trouble } from './trouble.ts'

/** Tries of a transaction that lost a deadlock or a lock wait, and looks at a schedule whose row was busy. */
const triesMax = 3

export interface CommitPorts {
  readonly session: Session
  readonly plan: DrainPlan
  readonly totals: Totals
  readonly settings: Settings
}

/** How a transaction ended the pulse; undefined: it goes on. */
export type Ended = Drained | undefined

/**
 * The transactions of one pulse. Each takes the lock, fires (fire.ts), notes what could not be fired
 * (trouble.ts) and commits. What becomes of one that fails:
 *
 *     a deadlock, a lock wait ──▶ again, three tries ──┐
 *     out of time ─────────────────────────────────────┴▶ halves, down to one instant ──▶ that one waits
 *     an error that a row can cause ──▶ halves, down to one schedule ──▶ that one is struck
 *     anything else ──▶ thrown; the instants stay due
 *
 * So one schedule keeps no other from firing, whether the database refuses its row or has no time for it.
 */
export class CommitFires {
  readonly #ports: CommitPorts
  /** How often each schedule was looked at in vain in this pulse. */
  readonly #vain = new Map<string, number>()
  #limit: number
  #rolledBack: Ended

  constructor(ports: CommitPorts) {
    this.#ports = ports
    this.#limit = ports.plan.batchSize
  }

  /** The schedules that this pulse does not look at any more. */
  get leftAlone(): string[] {
    return [...this.#vain].filter(([, times]) => times >= triesMax).map(([id]) => id)
  }

  get hasLookedInVain(): boolean {
    return this.#vain.size > 0
  }

  /** The most schedules that the next tick takes: half as many where the server had no time for more. */
  get limit(): number {
    return this.#limit
  }

  /** How the last instant ended that was rolled back by itself: the pulse is no success then. */
  get rolledBack(): Ended {
    return this.#rolledBack
  }

  /** Fires and notes in one transaction, or in as many as it takes. */
  async commit(fires: readonly PlannedFire[], troubles: readonly Trouble[]): Promise<Ended> {
    if (fires.length === 0 && troubles.length === 0) return undefined
    for (let tries = 1; ; tries++) {
      try {
        return await this.#transact(fires, troubles)
      } catch (error) {
        await this.#ports.session.connection.rollback()
        const failure = classify(error)
        if (failure === 'transient' || failure === 'timeout' || failure === 'idle') {
          this.#ports.totals.batchesAborted += 1
          if (failure !== 'transient' || tries === triesMax) return this.#inHalves(fires, troubles, error)
          await this.#ports.plan.sleep(askAgainMs * Math.random())
        } else if (failure === 'fault' && isOfOneRow(error) && fires.length > 0) {
          return this.#toOffender(fires, troubles, error)
        } else throw error
      }
    }
  }

  /** Fires half as much at a time; the one instant that is rolled back by itself waits, and is no strike. */
  async #inHalves(
    fires: readonly PlannedFire[],
    troubles: readonly Trouble[],
    error: unknown,
  ): Promise<Ended> {
    const { plan, totals, session } = this.#ports
    const [only] = fires
    if (only === undefined || plan.mayNotBegin(totals.batches) !== undefined)
      return { outcome: 'aborted', error }
    await revive(session)
    if (classify(error) === 'timeout') this.#limit = Math.max(1, this.#limit >> 1)
    if (fires.length > 1) return this.#both(fires, troubles)
    const half = only.fires.length >> 1
    const next = only.fires[half]?.at ?? null
    if (half > 0) return this.commit([{ ...only, fires: only.fires.slice(0, half), next }], troubles)
    this.#rolledBack = { outcome: 'aborted', error }
    return this.commit([], [...troubles, troubleOf(only, 'defer', error)])
  }

  /** Fires halves, down to the one schedule whose row the database refuses: it is struck. */
  async #toOffender(
    fires: readonly PlannedFire[],
    troubles: readonly Trouble[],
    error: unknown,
  ): Promise<Ended> {
    const [only] = fires
    return fires.length === 1 && only !== undefined
      ? this.commit([], [...troubles, troubleOf(only, 'strike', error)])
      : this.#both(fires, troubles)
  }

  async #both(fires: readonly PlannedFire[], troubles: readonly Trouble[]): Promise<Ended> {
    const middle = fires.length >> 1
    return (
      (await this.commit(fires.slice(0, middle), troubles)) ?? (await this.commit(fires.slice(middle), []))
    )
  }

  async #transact(fires: readonly PlannedFire[], troubles: readonly Trouble[]): Promise<Ended> {
    const { session, plan, totals, settings } = this.#ports
    const { connection } = session
    const begunMs = plan.nowMs()
    const hasWorked = totals.batches > 0
    if (!(await open(connection, plan, hasWorked)))
      return { outcome: hasWorked ? 'handed_over' : 'contended' }
    const done = fires.length === 0 ? [] : await connection.run(fire, { planned: fires })
    const all = [...troubles, ...this.#troublesOf(fires, done)]
    const threshold = settings.cronAutoDisableThreshold
    const noted = all.length === 0 ? [] : await connection.run(noteTrouble, { troubles: all, threshold })
    await connection.commit()
    totals.add(tallied(done, all, noted), plan.nowMs() - begunMs)
    const decided = new Set(done.filter(({ outcome }) => !isVain(outcome)).map(({ id }) => id))
    for (const { id } of [...fires, ...troubles]) {
      if (!decided.has(id)) this.#vain.set(id, (this.#vain.get(id) ?? 0) + 1)
    }
    return undefined
  }

  /** What the database found: an actor that is unknown, and a row that is busy for the last time. */
  #troublesOf(fires: readonly PlannedFire[], done: readonly Fired[]): Trouble[] {
    const byId = new Map(fires.map(each => [each.id, each]))
    return done.flatMap(({ id, outcome }) => {
      const fence = byId.get(id)
      if (fence === undefined) return []
      if (outcome === 'unknown_actor') return [troubleOf(fence, 'strike', 'its actor is unknown here')]
      const isLastLook = (this.#vain.get(id) ?? 0) + 1 >= triesMax
      return outcome === 'busy' && isLastLook
        ? [troubleOf(fence, 'defer', 'an open instance is locked by another transaction')]
        : []
    })
  }
}
