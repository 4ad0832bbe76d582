import { isDeepStrictEqual } from 'node:util'
import { payloadText } from '../client/payload.ts'
import { InvalidInputError } from '../core/errors.ts'
import { type Fragment, schema, sql } from '../sql/statement.ts'
import type { Timing } from './firing.ts'
import { periodMs, recurrenceOf } from './recurrence/recurrence.ts'
import { checkBounds, type MissedAnswers, type ScheduleFields } from './schedule-fields.ts'
import { msOf } from './tick/due-schedules.ts'

/** A schedule's definition as its row has it: what an edit may change, and a revision keeps. */
export interface Definition extends Timing, MissedAnswers {
  readonly actor: string
  readonly queue: string | null
  /** Null beside a factory, and where the payload is null. */
  readonly payload: unknown
  readonly payloadFactory: string | null
  readonly maxUnclaimedAgeMs: number
  /** Whether that age is two periods because nobody gave one. */
  readonly ageFollowsPeriod: boolean
}

/** The definition of a row of `schedules`, as JSON that reads as a {@link Definition}. */
export const definitionJson = (row: Fragment<unknown>) => sql`jsonb_build_object(
      'actor', ${row}.actor, 'queue', ${row}.queue,
      'recurrence', ${row}.recurrence, 'timezone', ${row}.timezone,
      'startAtMs', ${msOf(sql`${row}.start_at`)}, 'endAtMs', ${msOf(sql`${row}.end_at`)},
      'smearMs', ${msOf(sql`${row}.smear`)},
      'shape', ${row}.shape, 'missed', ${row}.missed, 'onOpen', ${row}.on_open,
      'payload', case when ${row}.payload_factory is null then coalesce(${row}.payload, 'null') end,
      'payloadFactory', ${row}.payload_factory,
      'maxUnclaimedAgeMs', ${msOf(sql`${row}.max_unclaimed_age`)},
      'ageFollowsPeriod', coalesce(${row}.age_follows_period, false))`

/** The same columns as a revision keeps them: by their names, whatever the release. */
export const revisionJson = (row: Fragment<unknown>) => sql`(
      select to_jsonb(d) from (select ${row}.actor, ${row}.queue, ${row}.recurrence, ${row}.timezone,
        ${row}.start_at, ${row}.end_at, ${row}.smear, ${row}.shape, ${row}.missed, ${row}.on_open,
        ${row}.payload, ${row}.payload_factory, ${row}.max_unclaimed_age, ${row}.age_follows_period) as d)`

/** A revision's definition as a row again. */
export const rowOfRevision = sql`jsonb_populate_record(null::${schema}.schedules, r.definition)`

export interface DefiningPorts {
  /** The database's instant, in whole milliseconds. */
  readonly nowMs: number
  readonly payloadBytesMax: number
  /** The definition that stands; its age is kept where neither it nor what it follows from has changed. */
  readonly standing: Definition | null
}

/** What an age that nobody gave follows from. */
const periodKeys = ['recurrence', 'timezone', 'startAtMs'] as const

/**
 * The whole definition of some fields: the payload is held to the actor's schema, to its size and to what
 * Postgres can store, and the age that was not given becomes two periods.
 */
export async function definitionOf(fields: ScheduleFields, ports: DefiningPorts): Promise<Definition> {
  const { nowMs, payloadBytesMax, standing } = ports
  const { name: _, actor, payload, maxUnclaimedAgeMs, ...rest } = fields
  const schemaOfActor = typeof actor === 'string' ? undefined : actor.payload
  checkBounds(fields)
  recurrenceOf(fields)
  const text =
    rest.payloadFactory === null
      ? await payloadText('payload', payload, schemaOfActor, payloadBytesMax)
      : 'null'
  const isAsBefore =
    standing?.ageFollowsPeriod === true && periodKeys.every(key => fields[key] === standing[key])
  return {
    ...rest,
    actor: typeof actor === 'string' ? actor : actor.name,
    payload: JSON.parse(text),
    maxUnclaimedAgeMs:
      maxUnclaimedAgeMs ?? (isAsBefore ? standing.maxUnclaimedAgeMs : twoPeriodsMs(fields, nowMs)),
    ageFollowsPeriod: maxUnclaimedAgeMs === null,
  }
}

function twoPeriodsMs(fields: ScheduleFields, nowMs: number): number {
  // The end of it all does not make its periods shorter.
  const ms = periodMs(recurrenceOf({ ...fields, endAtMs: null }), nowMs)
  if (ms !== undefined) return 2 * ms
  const reason = 'is missing, and does not follow from the recurrence, which comes no second time'
  throw new InvalidInputError('OPTION_INVALID', 'maxUnclaimedAge', reason)
}

/** The options whose stored forms differ between two definitions, by the names that users give. */
export function differences(one: Definition, other: Definition): string[] {
  const differ = (keys: readonly (keyof Definition)[]) =>
    keys.some(key => !isDeepStrictEqual(one[key], other[key]))
  return Object.entries(keysOfOption).flatMap(([option, keys]) => (differ(keys) ? [option] : []))
}

const keysOfOption: Readonly<Record<string, readonly (keyof Definition)[]>> = {
  actor: ['actor'],
  queue: ['queue'],
  recurrence: ['recurrence'],
  timezone: ['timezone'],
  startAt: ['startAtMs'],
  endAt: ['endAtMs'],
  smear: ['smearMs'],
  missedRun: ['shape', 'missed', 'onOpen'],
  payload: ['payload', 'payloadFactory'],
  maxUnclaimedAge: ['maxUnclaimedAgeMs', 'ageFollowsPeriod'],
}
