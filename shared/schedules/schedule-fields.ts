import type { Actor } from '../client/define-actor.ts'
import { durationMs, formatDuration } from '../core/durations.ts'
import { InvalidInputError } from '../core/errors.ts'
import { checkName } from '../core/names.ts'
import type { Missed } from './planner.ts'
import { zoneOf } from './recurrence/zone.ts'

/** What a missed run means, as it is stored. */
export interface MissedAnswers {
  readonly shape: 'intent' | 'deliverable'
  readonly missed: Missed
  readonly onOpen: 'supersede' | 'skip' | 'add'
}

/** The options of a schedule as they are stored. */
export interface ScheduleFields extends MissedAnswers {
  readonly name: string
  /** A bare name where the caller has no definition of it. */
  readonly actor: Actor | string
  readonly recurrence: string
  readonly timezone: string
  readonly startAtMs: number | null
  readonly endAtMs: number | null
  readonly smearMs: number
  /** Null: the actor's. */
  readonly queue: string | null
  /** Null beside a factory, and where the payload is null. */
  readonly payload: unknown
  readonly payloadFactory: string | null
  /** Null: two periods. */
  readonly maxUnclaimedAgeMs: number | null
}

/** What was given of them: an edit names what it changes. */
export type GivenFields = Partial<ScheduleFields>

const dayMs = 86_400_000
const smearMsMax = dayMs
const ageMsMax = 3650 * dayMs

type Check = (value: unknown, field: string) => GivenFields

/** One check an option: it refuses, or says what is stored. */
const checks: Readonly<Record<string, Check>> = {
  name: (value, field) => ({ name: nameIn(field, value) }),
  actor: (value, field) => ({ actor: actorIn(field, value) }),
  cron: (value, field) => {
    const cron = nameIn(field, value)
    if (/^\s*every\b/.test(cron)) throw refused(field, 'is no cron expression; an interval is `every`')
    return { recurrence: cron }
  },
  every: (value, field) => {
    durationMs(field, textIn(field, value))
    return { recurrence: `every ${value}` }
  },
  timezone: (value, field) => {
    zoneOf(value as string)
    return { timezone: nameIn(field, value) }
  },
  intent: (value, field) => {
    const { missed, onOpen } = answersIn(field, value, ['missed', 'onOpen'])
    if (missed !== 'latest' && missed !== 'skip') throw refused(`${field}.missed`, 'is not latest or skip')
    if (onOpen !== 'supersede' && onOpen !== 'skip')
      throw refused(`${field}.onOpen`, 'is not supersede or skip')
    return { shape: 'intent', missed, onOpen }
  },
  deliverable: (value, field) => {
    answersIn(field, value, [])
    return { shape: 'deliverable', missed: 'all', onOpen: 'add' }
  },
  payload: value => ({ payload: value, payloadFactory: null }),
  payloadFactory: (value, field) => ({ payload: null, payloadFactory: nameIn(field, value) }),
  queue: (value, field) => ({ queue: nameIn(field, value) }),
  maxUnclaimedAge: (value, field) => ({ maxUnclaimedAgeMs: span(field, value, 1, ageMsMax) }),
  startAt: (value, field) => ({ startAtMs: moment(field, value) }),
  endAt: (value, field) => ({ endAtMs: moment(field, value) }),
  smear: (value, field) => ({ smearMs: span(field, value, 0, smearMsMax) }),
}

/** What an edit may take back by null. */
const cleared: Readonly<Record<string, GivenFields>> = {
  queue: { queue: null },
  maxUnclaimedAge: { maxUnclaimedAgeMs: null },
  startAt: { startAtMs: null },
  endAt: { endAtMs: null },
}

/** Each answer has two names, of which one is given. */
const alternatives = [
  ['cron', 'every', 'recurrence', 'when it is due'],
  ['intent', 'deliverable', 'shape', 'what a missed run means'],
  ['payload', 'payloadFactory', 'payloadFactory', 'what its jobs are given'],
] as const

/**
 * Checks options and gives what is stored of each. The first wrong one is refused with code `OPTION_INVALID`
 * and its field.
 *
 * @param mayClear - Whether null takes an option back; else null is no way to leave one out.
 */
export function fieldsOf(options: object, mayClear = false): GivenFields {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw refused('schedule', 'is no object')
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const names = given.map(([name]) => name)
  const fields = given.map(([name, value]) => {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    if (check === undefined) {
      throw refused(name, `is no option; there are ${Object.keys(checks).join(', ')}`)
    }
    return (mayClear && value === null ? cleared[name] : undefined) ?? check(value, name)
  })
  for (const [one, other, , what] of alternatives) {
    if (names.includes(one) && names.includes(other)) {
      throw refused(other, `stands beside ${one}: give one of the two, which says ${what}`)
    }
  }
  return Object.assign({}, ...fields)
}

/** The fields of a whole schedule: what has no default must have been given. */
export function requireAll(given: GivenFields): ScheduleFields {
  for (const name of ['name', 'actor'] as const) {
    if (given[name] === undefined) throw refused(name, 'is missing')
  }
  for (const [one, other, key, what] of alternatives) {
    if (given[key] === undefined) throw refused(one, `is missing, and so is ${other}: say ${what}`)
  }
  const fields = { ...defaults, ...given } as ScheduleFields
  checkBounds(fields)
  return fields
}

const defaults: GivenFields = {
  timezone: 'UTC',
  startAtMs: null,
  endAtMs: null,
  smearMs: 0,
  queue: null,
  maxUnclaimedAgeMs: null,
}

/** Refuses an end that does not come after the start. */
export function checkBounds({ startAtMs, endAtMs }: Pick<ScheduleFields, 'startAtMs' | 'endAtMs'>): void {
  if (startAtMs !== null && endAtMs !== null && endAtMs <= startAtMs) {
    throw refused('endAt', 'is not after startAt')
  }
}

function textIn(field: string, value: unknown): string {
  if (typeof value !== 'string') throw refused(field, 'is no text')
  return value
}

function nameIn(field: string, value: unknown): string {
  const text = textIn(field, value)
  checkName(field, text)
  if (!text.isWellFormed()) throw refused(field, 'holds half a surrogate pair')
  return text
}

function actorIn(field: string, value: unknown): Actor | string {
  if (typeof value === 'string') return nameIn(field, value)
  const { name, payload, retry } = (value ?? {}) as Partial<Actor>
  const isActor = typeof payload?.['~standard']?.validate === 'function' && typeof retry === 'object'
  if (!isActor || typeof name !== 'string') throw refused(field, 'is no actor, as defineActor returns it')
  return value as Actor
}

function answersIn(field: string, value: unknown, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refused(field, 'is no object')
  }
  const unknown = Object.keys(value).find(key => !known.includes(key))
  if (unknown === undefined) return value as Record<string, unknown>
  const reason =
    known.length === 0 ? 'is no answer of a deliverable: each of its instants is owed' : 'is no answer of it'
  throw refused(`${field}.${unknown}`, reason)
}

function span(field: string, value: unknown, msMin: number, msMax: number): number {
  const ms = durationMs(field, textIn(field, value))
  if (ms < msMin) throw refused(field, 'is not above 0, and cannot be off')
  if (ms > msMax) throw refused(field, `is longer than ${formatDuration(msMax)}`)
  return ms
}

function moment(field: string, value: unknown): number {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) throw refused(field, 'is no valid Date')
  const year = value.getUTCFullYear()
  if (year < 1970 || year > 9999) throw refused(field, 'lies outside the years 1970 to 9999')
  return value.getTime()
}

function refused(field: string, reason: string): InvalidInputError {
  return new InvalidInputError('OPTION_INVALID', field, reason)
}
