import { arg, type Fragment, schema, sql, statement } from '../../sql/statement.ts'
import { float8, int4, jsonb, type PgType, text, uuid, uuidArray } from '../../sql/types.ts'
import { isDue } from '../cron.ts'
import type { EarlierTiming } from '../firing.ts'
import type { Missed } from '../planner.ts'

/** An instant in milliseconds since 1970; one between two of them counts as the later. */
export const msOf = (instant: Fragment<unknown>) => sql`ceil(extract(epoch from ${instant}) * 1000)::float8`

/** The definitions of before of `schedules s` that held after an instant, as {@link EarlierTiming}s. */
export const earlierSince = (instant: Fragment<unknown>) => sql`(
      select jsonb_agg(jsonb_build_object(
        'recurrence', held.definition ->> 'recurrence',
        'timezone', held.definition ->> 'timezone',
        'startAtMs', ${msOf(sql`(held.definition ->> 'start_at')::timestamptz`)},
        'endAtMs', ${msOf(sql`(held.definition ->> 'end_at')::timestamptz`)},
        'smearMs', ${msOf(sql`(held.definition ->> 'smear')::interval`)},
        'fromMs', ${msOf(sql`held.revised_at`)},
        'untilMs', ${msOf(sql`held.until`)}) order by held.revision)
      from (
        select r.*, lead(r.revised_at) over (order by r.revision) as until
        from ${schema}.schedule_revisions r
        where r.schedule_id = s.id and r.revision <= s.revision
      ) as held
      where held.revision < s.revision and held.until > ${instant}
    )`

/** What is owed still may be theirs. They are asked for only where the cursor stands before the last edit. */
const earlier = sql`case when s.next_fire_at < s.revised_at then ${earlierSince(sql`s.next_fire_at`)} end`

/** What decides when a schedule is due, as {@link firingThroughEdits} takes it, of `schedules s`. */
export const timingColumns = {
  recurrence: text,
  timezone: text,
  startAtMs: float8.orNull,
  endAtMs: float8.orNull,
  smearMs: float8,
  revisedAtMs: float8,
  earlier: jsonb.orNull as PgType<unknown> as PgType<EarlierTiming[] | null>,
} as const

export const timing = sql`s.recurrence, s.timezone,
    ${msOf(sql`s.start_at`)} as "startAtMs", ${msOf(sql`s.end_at`)} as "endAtMs",
    ${msOf(sql`s.smear`)} as "smearMs", ${msOf(sql`s.revised_at`)} as "revisedAtMs",
    ${earlier} as earlier`

/**
 * The schedules that are due and were not looked at in vain already, the longest due first, and the instant
 * of looking. Nothing is locked: what is decided about a row is fenced by its revision and its cursor.
 */
export const readDue = statement(
  'due-schedules',
  {
    nowMs: float8,
    id: uuid,
    name: text,
    actor: text,
    missed: text as PgType<unknown> as PgType<Missed>,
    payloadFactory: text.orNull,
    revision: int4,
    cursor: text,
    cursorMs: float8,
    ...timingColumns,
  },
  sql`select extract(epoch from statement_timestamp())::float8 * 1000 as "nowMs",
    s.id, s.name, s.actor, s.missed, s.payload_factory as "payloadFactory", s.revision,
    s.next_fire_at::text as cursor, ${msOf(sql`s.next_fire_at`)} as "cursorMs",
    ${timing}
  from ${schema}.schedules s
  where ${isDue} and s.id <> all (${arg('except', uuidArray)})
  order by s.tick_at, s.id
  limit ${arg('limit', int4)}`,
)

export type DueSchedule = NonNullable<(typeof readDue)['_row']>

/** The zones of the next schedules that fall due within a minute. */
export const readZonesAhead = statement(
  'zones-ahead',
  { timezone: text, nowMs: float8 },
  sql`select distinct ahead.timezone, extract(epoch from statement_timestamp())::float8 * 1000 as "nowMs"
  from (
    select s.timezone from ${schema}.schedules s
    where s.enabled and s.tick_at <= statement_timestamp() + interval '1 minute'
    order by s.tick_at, s.id
    limit 1000
  ) as ahead`,
)
