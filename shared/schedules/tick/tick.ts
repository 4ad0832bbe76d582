import { jobIds } from '../../client/job-id.ts'
import type { Settings } from '../../core/read-settings.ts'
import { classify, isOfOneRow } from '../../sql/failures.ts'
import { askAgainMs, open } from '../../sweeper/batch.ts'
import type { Drained, DrainPlan, SelfDraining } from '../../sweeper/drain.ts'
import { revive, type Session } from '../../sweeper/session.ts'
import type { Totals } from '../../sweeper/totals.ts'
import { reclaim, reclaimArgs, wholeWindow } from '../../sweeps/expired_locks.ts'
import { cron, eligible } from '../cron.ts'
import type { FiringDefinitions } from '../payload-factory.ts'
import { type DueSchedule, readDue } from './due-schedules.ts'
import { type Fired, fire, type PlannedFire } from './fire.ts'
import { makePayloads, type Planned } from './make-payloads.ts'
import { planSchedule, troubleOf } from './plan-schedule.ts'
import { prepare } from './prepare.ts'
import { isVain, tallied } from './tallied.ts'
import { noteTrouble, type Trouble } from './trouble.ts'

/** Tries of a tick that lost a deadlock or a lock wait, and looks at a schedule whose row was busy. */
const triesMax = 3
/** Reclaims before a pulse's first tick. */
const reclaimRowsMax = 25

/**
 * The function `cron`, with what it needs to fire: the settings and the user's definitions, or null in a
 * process that has none.
 *
 * @example
 * await run(firing(settings, definitions), { trigger: 'manual', settings }, ports)
 */
export function firing(settings: Settings, definitions: FiringDefinitions | null): SelfDraining {
  return {
    ...cron,
    eligible: [eligible],
    prepare,
    drain: (session, plan, totals) => new Ticks({ session, plan, totals, settings, definitions }).run(),
  }
}

interface TickPorts {
  readonly session: Session
  readonly plan: DrainPlan
  readonly totals: Totals
  readonly settings: Settings
  readonly definitions: FiringDefinitions | null
}

/** How a transaction of a tick ended the pulse; undefined: it goes on. */
type Ended = Drained | undefined

/**
 * One pulse of `cron`, tick by tick:
 *
 *     reclaim a few ▶ read what is due ─┬─ payload stored ▶ one transaction ─┐
 *                        ▲     │        └─ made by a factory ▶ make, outside │
 *                        │     └─ nothing ▶ drained     ▶ one transaction ───┤
 *                        └───────────────────────────────────────────────────┘
 *
 * A transaction takes the lock, fires (fire.ts), notes what could not be fired (trouble.ts) and commits. What
 * an error of the database says about one schedule's row is found by firing halves, down to that schedule:
 * it is struck, and all others fire. Any other error rolls the transaction back whole: the instants stay due.
 */
class Ticks {
  readonly #ports: TickPorts
  /** How often each schedule was looked at in vain in this pulse. */
  readonly #vain = new Map<string, number>()

  constructor(ports: TickPorts) {
    this.#ports = ports
  }

  async run(): Promise<Drained> {
    const { plan, totals, session } = this.#ports
    await this.#reclaimFew()
    for (;;) {
      const early = plan.mayNotBegin(totals.batches)
      if (early !== undefined) return { outcome: early }
      await revive(session)
      const due = await this.#readDue()
      if (due.length === 0) return this.#idle()
      const ended = (await this.#tick(due)) ?? (await this.#rest())
      if (ended !== undefined) return ended
    }
  }

  /**
   * Frees what a dead worker holds, as an empty claim does, so that an instance that nobody runs any more is
   * not taken for an open one. It fires nothing, so its failure keeps nothing from firing.
   */
  async #reclaimFew(): Promise<void> {
    const { session, plan, settings } = this.#ports
    const { connection } = session
    try {
      const opened = await connection.openBatch({ ...plan.opening, lock: null })
      if (opened === 'locked') {
        await connection.run(reclaim, { ...reclaimArgs(settings), ...wholeWindow, limit: reclaimRowsMax })
        return await connection.commit()
      }
    } catch {
      // Its own function has it, too, and tells.
    }
    await connection.rollback()
  }

  async #readDue(): Promise<DueSchedule[]> {
    const { session, plan } = this.#ports
    const except = [...this.#vain].filter(([, times]) => times >= triesMax).map(([id]) => id)
    return session.connection.run(readDue, { except, limit: plan.batchSize })
  }

  /** Nothing is due. A lock that somebody holds is told all the same: he may be firing what was due. */
  async #idle(): Promise<Drained> {
    const { session, plan, totals } = this.#ports
    if (totals.batches > 0) return { outcome: 'drained' }
    const isLocked = await open(session.connection, plan, false)
    await session.connection.rollback()
    return { outcome: isLocked ? 'drained' : 'contended' }
  }

  /** Whoever had a row locked needs a moment. */
  async #rest(): Promise<Ended> {
    if (this.#vain.size > 0) await this.#ports.plan.sleep(askAgainMs)
    return undefined
  }

  async #tick(due: readonly DueSchedule[]): Promise<Ended> {
    const { settings, plan, definitions } = this.#ports
    const newJobId = jobIds(() => due[0]?.nowMs ?? 0)
    const bounds = {
      latenessToleranceMs: settings.cronLatenessTolerance,
      catchUpMax: settings.cronMaxCatchUp,
    }
    const stored: PlannedFire[] = []
    const unmade: Planned[] = []
    const wrong: Trouble[] = []
    for (const row of due) {
      try {
        const planned = planSchedule(row, bounds, newJobId)
        if (row.payloadFactory === null || planned.fires.length === 0) stored.push(planned)
        else unmade.push({ due: row, fire: planned })
      } catch (error) {
        // Written past every check, by hand: a recurrence that cannot be read is that schedule's own matter.
        wrong.push(troubleOf(row, 'strike', error))
      }
    }
    const ended = await this.#commit(stored, wrong)
    if (ended !== undefined || unmade.length === 0) return ended
    const { cronPayloadFactoryTimeout: timeoutMs, payloadMaxBytes: payloadBytesMax } = settings
    const { ready, troubles } = await makePayloads(unmade, {
      definitions,
      bounds: { timeoutMs, payloadBytesMax },
      hasTime: () => !plan.signal.aborted && plan.leftMs() >= timeoutMs,
    })
    await revive(this.#ports.session)
    return this.#commit(ready, troubles)
  }

  /** Fires and notes in one transaction; halves it where one schedule's row fails it. */
  async #commit(fires: readonly PlannedFire[], troubles: readonly Trouble[]): Promise<Ended> {
    if (fires.length === 0 && troubles.length === 0) return undefined
    for (let tries = 1; ; tries++) {
      try {
        return await this.#transact(fires, troubles)
      } catch (error) {
        await this.#ports.session.connection.rollback()
        const failure = classify(error)
        if (failure === 'transient' || failure === 'timeout' || failure === 'idle') {
          this.#ports.totals.batchesAborted += 1
          if (failure !== 'transient' || tries === triesMax) return { outcome: 'aborted', error }
          await this.#ports.plan.sleep(askAgainMs * Math.random())
        } else if (failure === 'fault' && isOfOneRow(error) && fires.length > 0) {
          return this.#halve(fires, troubles, error)
        } else throw error
      }
    }
  }

  async #halve(fires: readonly PlannedFire[], troubles: readonly Trouble[], error: unknown): Promise<Ended> {
    const [only] = fires
    if (fires.length === 1 && only !== undefined) {
      return this.#commit([], [...troubles, troubleOf(only, 'strike', error)])
    }
    const middle = fires.length >> 1
    return (
      (await this.#commit(fires.slice(0, middle), troubles)) ?? (await this.#commit(fires.slice(middle), []))
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
