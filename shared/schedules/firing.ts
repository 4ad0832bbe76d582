import { createHash } from 'node:crypto'
import type { Missed } from './planner.ts'
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

/** What a definition answers about an instant that was missed, and about one that is open. */
export interface Answers {
  readonly shape: 'intent' | 'deliverable'
  readonly missed: Missed
  readonly onOpen: 'supersede' | 'skip' | 'add'
}

/** The definition that stands, and since when. */
export type CurrentTerms = Timing & Answers & { readonly revisedAtMs: number }

/** A definition of before, and from when until when it held. */
export type EarlierTerms = Timing & Answers & { readonly fromMs: number; readonly untilMs: number }

/** The instants for which one definition held, as they fire, and its answers about them. */
export interface Part extends Answers {
  readonly recurrence: Recurrence
}

/** The recurrence of a schedule by one definition, smear included. */
export function firingOf(id: string, timing: Timing): Recurrence {
  return later(recurrenceOf(timing), smearPartMs(id, timing.smearMs))
}

/**
 * A schedule by all definitions that still matter: an instant is owed as the one said that held at it, its
 * time and its answers, whatever is said now. A smear may have the last instants of one definition fire
 * behind the first of the next. Where nobody knows what held before the first, it did.
 */
export function partsOf(id: string, current: CurrentTerms, earlier: readonly EarlierTerms[]): Part[] {
  const none = earlier.length === 0
  const always = { fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY }
  const last = none ? { ...current, ...always } : { ...current, ...always, fromMs: current.revisedAtMs }
  return [...earlier, last].map((terms, place) => {
    const { shape, missed, onOpen, untilMs } = terms
    const fromMs = place === 0 ? Number.NEGATIVE_INFINITY : terms.fromMs
    const held = spliced([{ recurrence: recurrenceOf(terms), fromMs, untilMs }])
    return { shape, missed, onOpen, recurrence: later(held, smearPartMs(id, terms.smearMs)) }
  })
}

/** The instants of all parts, in the order in which they fire. */
export function merged(parts: readonly Part[]): Recurrence {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only.recurrence
  const recurrences = parts.map(({ recurrence }) => recurrence)
  const all = (find: (recurrence: Recurrence) => Instant | undefined) =>
    recurrences.flatMap(recurrence => find(recurrence) ?? []).sort((one, other) => one.atMs - other.atMs)
  return {
    next: afterMs => all(each => each.next(afterMs))[0],
    newest: (fromMs, untilMs) => all(each => each.newest(fromMs, untilMs)).at(-1),
    count: (fromMs, untilMs) => recurrences.reduce((sum, each) => sum + each.count(fromMs, untilMs), 0),
  }
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
