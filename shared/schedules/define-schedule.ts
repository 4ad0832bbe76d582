import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Actor } from '../client/define-actor.ts'
import type { Duration } from '../core/durations.ts'
import { InvalidInputError } from '../core/errors.ts'
import { recurrenceOf } from './recurrence/recurrence.ts'
import { fieldsOf, requireAll } from './schedule-fields.ts'

/** When a schedule is due: by a calendar, or after so much time again and again. */
export type WhenDue =
  | {
      /**
       * croner's dialect: five fields, or six with seconds first; day of month *or* day of week; names, `L`,
       * `#`, `@daily`.
       */
      readonly cron: string
      readonly every?: never
    }
  | {
      /** Whole seconds, 1s to 365d, counted from `startAt`, else from 1970, so that no lateness moves it. */
      readonly every: Duration
      readonly cron?: never
    }

/** Only the newest instance matters: its two answers have no default. */
export interface Intent {
  /**
   * Of instants that nobody came for in time: `latest` fires the newest, `skip` none. Those in between are
   * recorded as missed.
   */
  readonly missed: 'latest' | 'skip'
  /** Where an older instance is open: the new one replaces it, or is left out. */
  readonly onOpen: 'supersede' | 'skip'
}

/** What a missed run means. Every schedule says it. */
export type MissedRun =
  | { readonly intent: Intent; readonly deliverable?: never }
  | {
      /** Every instant is owed: all are fired, none is superseded or skipped. It asks nothing. */
      readonly deliverable: Readonly<Record<string, never>>
      readonly intent?: never
    }

/** What each job is given: always the same, or what one of `payloadFactories` makes for its instant. */
export type Payloads<Payload extends StandardSchemaV1> =
  | { readonly payload: StandardSchemaV1.InferInput<Payload>; readonly payloadFactory?: never }
  | { readonly payloadFactory: string; readonly payload?: never }

export interface CommonTerms {
  /** What every verb, decision and job calls it by: another name is another schedule. */
  readonly name: string
  /** Such as `Europe/Berlin`; `UTC` where absent. */
  readonly timezone?: string
  /** Another queue than the actor's. */
  readonly queue?: string
  /** A job that nobody claimed for so long is told to the pager; two periods where absent. */
  readonly maxUnclaimedAge?: Duration
  /** No instant comes before it. */
  readonly startAt?: Date
  /** No instant comes after it. */
  readonly endAt?: Date
  /** Each instant fires later by the schedule's own part of this, at most 1d; 0 where absent. */
  readonly smear?: Duration
}

/** All of a schedule but its actor. */
export type ScheduleTerms<Payload extends StandardSchemaV1> = CommonTerms &
  WhenDue &
  MissedRun &
  Payloads<Payload>

export type ScheduleOptions<Payload extends StandardSchemaV1 = StandardSchemaV1> = {
  readonly actor: Actor<Payload>
} & ScheduleTerms<Payload>

/** The definition of a schedule; itself the options of an equal one. */
export type Schedule = Readonly<ScheduleOptions>

/**
 * Defines what recurs, and what a missed run of it means. It is stored by `sync`, which reads the module's
 * `schedules`, or by `taskq.schedules.create`. The result is frozen. What is wrong is refused with code
 * `OPTION_INVALID` and `field`; the payload is held to the actor's schema where it is stored.
 *
 * @example
 * const dailyPost = defineSchedule({
 *   name: 'daily-post', actor: writePost, cron: '0 7 * * *', timezone: 'Europe/Berlin',
 *   intent: { missed: 'latest', onOpen: 'supersede' }, maxUnclaimedAge: '48h', payload: { kind: 'daily' },
 * })
 */
export function defineSchedule<Payload extends StandardSchemaV1>(
  options: ScheduleOptions<Payload>,
): Schedule {
  const fields = requireAll(fieldsOf(options))
  if (typeof fields.actor !== 'object') {
    throw new InvalidInputError('OPTION_INVALID', 'actor', 'is no actor, as defineActor returns it')
  }
  if (recurrenceOf(fields).next(-1) === undefined) {
    throw new InvalidInputError('OPTION_INVALID', 'endAt', 'leaves no instant: it would never fire')
  }
  const { intent, deliverable } = options
  const answers = deliverable === undefined ? { intent: Object.freeze({ ...intent }) } : { deliverable }
  return Object.freeze({ ...options, timezone: fields.timezone, ...answers }) as Schedule
}
