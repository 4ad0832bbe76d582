import { createHash } from 'node:crypto'
import { type Instant, type Recurrence, recurrenceOf, spliced } from './recurrence/recurrence.ts'

/** An instant as it fires: `atMs` has the schedule's part of the smear in it, `nominalMs` has not. */
export interface Firing extends Instant {
  readonly nominalMs: number
}

/** What of a definition decides when it is due. */
export interface Timing {
  readonly recurrence: string
  readonly timezone: string
  readonly startAtMs: number | null
  readonly endAtMs: number | null
  readonly smearMs: number
}

/** A definition of before, and until when it held. */
export interface EarlierTiming extends Timing {
  readonly fromMs: number
  readonly untilMs: number
}

/** The recurrence of a schedule by one definition, smear included. */
export function firingOf(id: string, timing: Timing): Recurrence {
  return later(recurrenceOf(timing), smearPartMs(id, timing.smearMs))
}

/**
 * The recurrence of a schedule over all definitions that still matter: an instant that fell due under an
 * earlier one is owed as that one said, whatever the definition says now.
 */
export function firingThroughEdits(
  id: string,
  current: Timing & { readonly revisedAtMs: number },
  earlier: readonly EarlierTiming[],
): Recurrence {
  const now = firingOf(id, current)
  if (earlier.length === 0) return now
  return spliced([
    ...earlier.map(each => ({
      recurrence: firingOf(id, each),
      fromMs: each.fromMs,
      untilMs: each.untilMs,
    })),
    { recurrence: now, fromMs: current.revisedAtMs, untilMs: Number.POSITIVE_INFINITY },
  ])
}

/** The instant that a firing is for, as its calendar says it. */
export function nominalMsOf(instant: Instant): number {
  return 'nominalMs' in instant ? (instant as Firing).nominalMs : instant.atMs
}

/** Which part of its smear a schedule has: the same for all its instants, in whole seconds. */
export function smearPartMs(id: string, smearMs: number): number {
  if (smearMs === 0) return 0
  const lot = createHash('sha256').update(id).digest().readUInt32BE(0) / 2 ** 32
  return Math.floor((lot * smearMs) / 1000) * 1000
}

function later(recurrence: Recurrence, byMs: number): Recurrence {
  if (byMs === 0) return recurrence
  const moved = (instant: Instant | undefined): Firing | undefined =>
    instant && { ...instant, atMs: instant.atMs + byMs, nominalMs: instant.atMs }
  return {
    next: afterMs => moved(recurrence.next(afterMs - byMs)),
    newest: (fromMs, untilMs) => moved(recurrence.newest(fromMs - byMs, untilMs - byMs)),
    count: (fromMs, untilMs) => recurrence.count(fromMs - byMs, untilMs - byMs),
  }
}
