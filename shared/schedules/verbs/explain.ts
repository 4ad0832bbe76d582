import { durationMs, formatDuration } from '../../core/durations.ts'
import { merged, nominalMsOf } from '../firing.ts'
import { type HeldSchedule, partsOfHeld } from './held-schedule.ts'
import { owedWords, owingAt, words } from './owing.ts'
import { decisionsOf, type Simulation } from './simulate.ts'
import { readOne, type VerbPorts } from './verb-ports.ts'

/** One of the next instants. */
export interface NextInstant {
  /** When it fires, its part of the smear included. */
  readonly at: Date
  /** The wall clock of its zone at the instant that it is for, as `Tue 2026-03-03 07:00:00 GMT+1`. */
  readonly local: string
  /** Its wall-clock time does not exist that day: it stands at the first valid minute after it. */
  readonly shifted: boolean
}

export interface Explanation {
  readonly name: string
  /** The definition, a sentence each. */
  readonly words: readonly string[]
  /** The next five instants from the database's now. */
  readonly next: readonly NextInstant[]
  /** What the ticks would decide if none came for three days from now. */
  readonly afterThreeDaysDown: Pick<Simulation, 'decisions' | 'left'>
}

const shownMax = 5
const downMs = durationMs('', '3d')

/** Says what a schedule means: in words, in its next instants, and after three days without a tick. */
export async function explainSchedule({ transact, settings }: VerbPorts, name: string): Promise<Explanation> {
  const { held, nowMs } = await transact(transaction => readOne(transaction, name))
  const parts = held.isRetired ? undefined : partsOfHeld(held)
  const firing = parts && merged(parts)
  const firstMs = firing?.next(nowMs - 1)?.atMs
  const nothing = {
    name,
    words: sentences(held, nowMs),
    next: [],
    afterThreeDaysDown: { decisions: [], left: 0 },
  }
  if (parts === undefined || firing === undefined || firstMs === undefined) return nothing
  const next: NextInstant[] = []
  for (
    let at = firing.next(nowMs - 1);
    at !== undefined && next.length < shownMax;
    at = firing.next(at.atMs)
  ) {
    const { atMs, shifted } = at
    next.push({ at: new Date(atMs), local: localTime(nominalMsOf(at), held.timezone), shifted })
  }
  return {
    ...nothing,
    next,
    afterThreeDaysDown: decisionsOf(held, parts, firstMs, nowMs + downMs, settings),
  }
}

function sentences(held: HeldSchedule, nowMs: number): string[] {
  const { definition } = held
  const { actor, queue, payloadFactory, startAtMs, endAtMs, smearMs } = definition
  const bounds = [
    ...(startAtMs === null ? [] : [`from ${words(startAtMs)}`]),
    ...(endAtMs === null ? [] : [`until ${words(endAtMs)}`]),
    ...(smearMs === 0 ? [] : [`each later by a part of ${formatDuration(smearMs)}`]),
  ]
  return [
    `Due ${[dueWords(held), ...bounds].join(', ')}.`,
    `Each instant is a job of ${actor}${queue === null ? '' : ` in queue ${queue}`}, ${
      payloadFactory === null ? 'with the same payload' : `its payload made by ${payloadFactory}`
    }.`,
    ...missedWords[definition.missed],
    ...(definition.onOpen === 'add' ? [] : [openWords[definition.onOpen]]),
    `A job that nobody claims for ${formatDuration(definition.maxUnclaimedAgeMs)} is told to the pager.`,
    stateWords(held, nowMs),
  ]
}

function dueWords({ recurrence, timezone, definition }: HeldSchedule): string {
  if (!/^\s*every\b/.test(recurrence)) return `at ${recurrence} in ${timezone}`
  return `${recurrence.trim()}, counted from ${words(definition.startAtMs ?? 0)}`
}

const missedWords = {
  all: ['A deliverable: after an outage every instant is fired, the oldest first; none is ever superseded.'],
  latest: ['An intent: after an outage the newest instant is fired, and those before it are missed.'],
  skip: ['An intent: after an outage nothing is fired unless it is on time; what was due is missed.'],
} as const

const openWords = {
  supersede: 'A newer one replaces an older one that is not running.',
  skip: 'While one is open, the next is left out.',
} as const

function stateWords(held: HeldSchedule, nowMs: number): string {
  if (held.isRetired) return 'It is retired.'
  if (held.disabledBy === 'auto') return `It was disabled because it failed: ${held.lastError ?? 'unknown'}.`
  if (!held.enabled) return `It is paused, and owes ${owedWords(owingAt(held, nowMs))}.`
  return `It owes ${owedWords(owingAt(held, nowMs))}; the next is ${words(held.cursorMs)}.`
}

function localTime(ms: number, timezone: string): string {
  const parts = new Intl.DateTimeFormat('en-US', { ...localForm, timeZone: timezone }).formatToParts(ms)
  const part = (type: string) => parts.find(each => each.type === type)?.value ?? ''
  const date = ['year', 'month', 'day'].map(part).join('-')
  const time = ['hour', 'minute', 'second'].map(part).join(':')
  return `${part('weekday')} ${date} ${time} ${part('timeZoneName')}`
}

const localForm: Intl.DateTimeFormatOptions = {
  weekday: 'short',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'shortOffset',
}
