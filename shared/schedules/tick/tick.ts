import { jobIds } from '../../client/job-id.ts'
import type { Settings } from '../../core/read-settings.ts'
import { askAgainMs, open } from '../../sweeper/batch.ts'
import type { Drained, SelfDraining } from '../../sweeper/drain.ts'
import { revive } from '../../sweeper/session.ts'
import { reclaim, reclaimArgs, wholeWindow } from '../../sweeps/expired_locks.ts'
import { cron, eligible } from '../cron.ts'
import type { FiringDefinitions } from '../payload-factory.ts'
import { CommitFires, type CommitPorts, type Ended } from './commit-fires.ts'
import { type DueSchedule, readDue } from './due-schedules.ts'
import type { PlannedFire } from './fire.ts'
import { makePayloads, outlivingStrays, type Planned } from './make-payloads.ts'
import { planSchedule, troubleOf } from './plan-schedule.ts'
import { prepare } from './prepare.ts'
import type { Trouble } from './trouble.ts'

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

interface TickPorts extends CommitPorts {
  readonly definitions: FiringDefinitions | null
}

/**
 * One pulse of `cron`, tick by tick:
 *
 *     reclaim a few ▶ read what is due ─┬─ payload stored ▶ one transaction ─┐
 *                        ▲     │        └─ made by a factory ▶ make, outside │
 *                        │     └─ nothing ▶ drained     ▶ one transaction ───┤
 *                        └───────────────────────────────────────────────────┘
 *
 * What a transaction does, and what becomes of one that fails, stands in commit-fires.ts.
 */
class Ticks {
  readonly #ports: TickPorts
  readonly #commits: CommitFires

  constructor(ports: TickPorts) {
    this.#ports = ports
    this.#commits = new CommitFires(ports)
  }

  async run(): Promise<Drained> {
    const { plan, totals, session, definitions } = this.#ports
    await this.#reclaimFew()
    // To the end of the pulse: what a factory leaves behind may come a moment after it.
    using _ = definitions === null ? null : outlivingStrays()
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
    const { session } = this.#ports
    const { leftAlone: except, limit } = this.#commits
    return session.connection.run(readDue, { except, limit })
  }

  /** Nothing is due. A lock that somebody holds is told all the same: he may be firing what was due. */
  async #idle(): Promise<Drained> {
    const { session, plan, totals } = this.#ports
    if (this.#commits.rolledBack !== undefined) return this.#commits.rolledBack
    if (totals.batches > 0) return { outcome: 'drained' }
    const isLocked = await open(session.connection, plan, false)
    await session.connection.rollback()
    return { outcome: isLocked ? 'drained' : 'contended' }
  }

  /** Whoever had a row locked needs a moment. */
  async #rest(): Promise<Ended> {
    if (this.#commits.hasLookedInVain) await this.#ports.plan.sleep(askAgainMs)
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
    const ended = await this.#commits.commit(stored, wrong)
    if (ended !== undefined || unmade.length === 0) return ended
    const { cronPayloadFactoryTimeout: timeoutMs, payloadMaxBytes: payloadBytesMax } = settings
    const { ready, troubles } = await makePayloads(unmade, {
      definitions,
      bounds: { timeoutMs, payloadBytesMax },
      hasTime: () => !plan.signal.aborted && plan.leftMs() >= timeoutMs,
    })
    await revive(this.#ports.session)
    return this.#commits.commit(ready, troubles)
  }
}
