import { InvalidInputError } from '../../core/errors.ts'
import { merged, nominalMsOf, type Part } from '../firing.ts'
import { planParts } from '../plan-parts.ts'
import { type HeldSchedule, partsOfHeld } from './held-schedule.ts'
import { readOne, type VerbPorts } from './verb-ports.ts'

export interface SimulateOptions {
  /** When the outage begins: what was due before was fired. Its cursor, where absent. */
  readonly from?: Date
  /** When the first tick after it comes. */
  readonly until: Date
}

/** One decision, as a tick would write it. */
export interface SimulatedDecision {
  readonly at: Date
  /** The instants that become jobs, the oldest first. */
  readonly fires: readonly Date[]
  readonly missed: number
  readonly missedFrom: Date | null
  readonly missedTo: Date | null
  readonly cursorFrom: Date
  readonly cursorTo: Date | null
  /** What meets the instance that is open now; null where none is, or nothing fires. */
  readonly onOpen: 'supersede' | 'skipped_open' | 'add' | null
}

export interface Simulation {
  readonly name: string
  /** False: nothing of this happens before it is resumed. */
  readonly enabled: boolean
  readonly decisions: readonly SimulatedDecision[]
  /** Instants that are owed still after the last of them, where there are more than the answer holds. */
  readonly left: number
}

/** Decisions of one answer. */
const decisionsMax = 100

/**
 * The decisions that an outage would give: what the ticks make of a schedule of which nobody has fired
 * anything from one moment to another. Payload factories and full queues are left out of it.
 */
export async function simulateOutage(
  { transact, settings }: VerbPorts,
  name: string,
  { from, until }: SimulateOptions,
): Promise<Simulation> {
  const fromMs = from === undefined ? undefined : momentOf('from', from)
  const untilMs = momentOf('until', until)
  const { held } = await transact(transaction => readOne(transaction, name))
  const { enabled } = held
  const parts = partsOfHeld(held)
  if (parts === undefined) return { name, enabled, decisions: [], left: 0 }
  const cursorMs = fromMs === undefined ? held.cursorMs : (merged(parts).next(fromMs - 1)?.atMs ?? null)
  return { name, enabled, ...decisionsOf(held, parts, cursorMs, untilMs, settings) }
}

/** What the ticks that come at a moment decide about all that is due since a cursor. */
export function decisionsOf(
  held: HeldSchedule,
  parts: readonly Part[],
  fromMs: number | null,
  untilMs: number,
  settings: VerbPorts['settings'],
): Pick<Simulation, 'decisions' | 'left'> {
  const bounds = {
    asOfMs: untilMs,
    latenessToleranceMs: settings.cronLatenessTolerance,
    catchUpMax: settings.cronMaxCatchUp,
  }
  const decisions: SimulatedDecision[] = []
  let cursorMs = fromMs
  while (cursorMs !== null && cursorMs <= untilMs && decisions.length < decisionsMax) {
    const planned = planParts(parts, cursorMs, bounds)
    if (planned === undefined) break
    decisions.push({
      at: new Date(untilMs),
      fires: planned.fires.map(instant => new Date(nominalMsOf(instant))),
      missed: planned.missed,
      missedFrom: dateOf(planned.missedFromMs),
      missedTo: dateOf(planned.missedToMs),
      cursorFrom: new Date(cursorMs),
      cursorTo: dateOf(planned.cursorToMs),
      onOpen: planned.fires.length === 0 ? null : onOpenOf(held, planned.part),
    })
    cursorMs = planned.cursorToMs
  }
  const left = cursorMs === null || cursorMs > untilMs ? 0 : merged(parts).count(cursorMs, untilMs)
  return { decisions, left }
}

function onOpenOf({ hasOpen }: HeldSchedule, { onOpen }: Part): SimulatedDecision['onOpen'] {
  if (!hasOpen) return null
  return onOpen === 'skip' ? 'skipped_open' : onOpen
}

const dateOf = (ms: number | null) => (ms === null ? null : new Date(ms))

/** A moment between 1970 and 9999, in milliseconds. */
export function momentOf(field: string, given: Date): number {
  const ms = given instanceof Date ? given.getTime() : Number.NaN
  if (ms >= 0 && ms < Date.UTC(9999, 11, 31)) return ms
  throw new InvalidInputError('OPTION_INVALID', field, 'is no Date of the years 1970 to 9998')
}
