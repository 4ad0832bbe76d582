import { InvalidInputError } from '../../core/errors.ts'
import type { Runner } from '../../sql/connection.ts'
import { dateOf } from './finite-ms.ts'
import { firingOfHeld, type HeldSchedule } from './held-schedule.ts'
import { type Owing, owedWords, owingAt, words } from './owing.ts'
import { type StateChange, storeStates } from './store-states.ts'
import { lockLiving, type Reasoned, type ScheduleChanged, unchanged, type VerbPorts } from './verb-ports.ts'

export interface ResumeOptions extends Reasoned {
  /**
   * `keep`, where absent: the next tick decides about each missed instant by what the schedule says. `drop`:
   * they are left behind, which of a deliverable takes a reason.
   */
  readonly missed?: 'keep' | 'drop'
}

/** Keeps a schedule from firing. Its cursor stays, so that nothing is decided about what falls due. */
export function pauseSchedule(ports: VerbPorts, name: string, options: Reasoned = {}) {
  return switching(ports, name, options, (held, nowMs) => {
    if (held.disabledBy === 'operator') return 'it is paused already'
    const owing = owingAt(held, nowMs)
    const note = `paused; keeps ${owedWords(owing)} owed, and what falls due meanwhile`
    return { id: held.id, action: 'pause', moves: false, next: null, ...nothingMissed, note }
  })
}

/** Lets a schedule fire again, whoever had disabled it, and forgets what failed. */
export function resumeSchedule(ports: VerbPorts, name: string, options: ResumeOptions = {}) {
  const { missed = 'keep' } = options
  if (missed !== 'keep' && missed !== 'drop') {
    throw new InvalidInputError('OPTION_INVALID', 'missed', 'is not keep or drop')
  }
  return switching(ports, name, options, (held, nowMs) => {
    const owing = owingAt(held, nowMs)
    const drops = missed === 'drop' && owing.count !== 0
    if (held.enabled && !drops && held.failures === 0) return 'it is enabled already'
    if (!drops) return resumeOf(held, `resumed; keeps ${owedWords(owing)} owed`)
    requireReason(held, options, `drops ${owedWords(owing)}`)
    const firing = firingOfHeld(held)
    if (firing === undefined) return 'its recurrence cannot be read: edit it first'
    const nextMs = firing.next(nowMs - 1)?.atMs ?? null
    const note = `resumed; drops ${owedWords(owing)}; the next is ${words(nextMs)}`
    return { ...resumeOf(held, note), moves: true, next: textOf(nextMs), ...missedOf(owing) }
  })
}

/** A resume that keeps the cursor. */
export function resumeOf({ id }: HeldSchedule, note: string): StateChange {
  return { id, action: 'resume', moves: false, next: null, ...nothingMissed, note }
}

const nothingMissed = { missed: 0, missedFrom: null, missedTo: null }

/** What a decision says of instants that are left behind; those that cannot be read cannot be counted. */
function missedOf({ count = 0, fromMs, toMs }: Owing) {
  return { missed: count, missedFrom: textOf(fromMs), missedTo: textOf(toMs) }
}

const textOf = (ms: number | null) => (ms === null ? null : words(ms))

/** Ends a schedule for good; its name may be created anew. What it owed is left behind, and told. */
export function retireSchedule(ports: VerbPorts, name: string, options: Reasoned = {}) {
  return switching(ports, name, options, (held, nowMs) => {
    const owing = owingAt(held, nowMs)
    if (owing.count !== 0) requireReason(held, options, `leaves ${owedWords(owing)} behind`)
    const note = `retired; leaves ${owedWords(owing)} behind`
    return { id: held.id, action: 'retire', moves: true, next: null, ...missedOf(owing), note }
  })
}

/** Each instant of a deliverable is owed to somebody: whoever drops one says why. */
export function requireReason({ definition }: HeldSchedule, { reason }: Reasoned, what: string): void {
  if (definition.shape !== 'deliverable' || (reason !== undefined && reason !== '')) return
  throw new InvalidInputError('OPTION_INVALID', 'reason', `is missing: this ${what}, each of which is owed`)
}

/** Locks a schedule, and stores what was decided about it; a text says why nothing is. */
async function switching(
  { transact, principal }: VerbPorts,
  name: string,
  { reason }: Reasoned,
  decide: (held: HeldSchedule, nowMs: number) => StateChange | string,
): Promise<ScheduleChanged> {
  return transact(async (transaction: Runner) => {
    const { held, nowMs } = await lockLiving(transaction, name)
    const change = decide(held, nowMs)
    if (typeof change === 'string') return unchanged(held, change)
    const args = { changes: [change], principal, reason: reason ?? null }
    const [stored] = await transaction.run(storeStates, args)
    if (stored === undefined) throw new Error(`schedule "${name}" was locked and is gone`)
    return {
      name,
      changed: true,
      revision: stored.revision,
      nextAt: dateOf(stored.nextMs),
      note: change.note,
    }
  })
}
