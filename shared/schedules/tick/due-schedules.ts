import { arg, type Fragment, schema, sql, statement } from '../../sql/statement.ts'
import { int4, int8, jsonb, type PgType, text, uuid, uuidArray } from '../../sql/types.ts'
import { isDue } from '../cron.ts'
import type { Answers, EarlierTerms } from '../firing.ts'

/**
 * An instant in milliseconds since 1970, or a span in milliseconds; what lies between two of them counts as
 * the later. A whole number, since a setting of the session may round others. An instant that never comes is
 * the last that a calendar has here, and one that was always the first.
 */
export const msOf = (instant: Fragment<unknown>) => sql`case
      when extract(epoch from ${instant}) >= 253402300800 then 253402300800000
      when extract(epoch from ${instant}) <= 0 then 0
      else ceil(extract(epoch from ${instant}) * 1000)
    end::int8`

/** The definitions of before of `schedules s` whose instants fire after a moment, as {@link EarlierTerms}. */
export const earlierSince = (instant: Fragment<unknown>) => sql`(
      select jsonb_agg(jsonb_build_object(
        'recurrence', held.definition ->> 'recurrence',
        'timezone', held.definition ->> 'timezone',
        'shape', held.definition ->> 'shape',
        'missed', held.definition ->> 'missed',
        'onOpen', held.definition ->> 'on_open',
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
      where held.revision < s.revision
        and held.until + (held.definition ->> 'smear')::interval > ${instant}
    )`

/** What is owed still may be theirs, where the cursor stands before the last edit and what a smear adds. */
const earlier = sql`case when s.next_fire_at < s.revised_at + interval '1 day'
      then ${earlierSince(sql`s.next_fire_at`)} end`

const wordOf = <Word extends string>() => text as PgType<unknown> as PgType<Word>

/** What decides when a schedule is due and how, as {@link partsOf} takes it, of `schedules s`. */
export const timingColumns = {
  shape: wordOf<Answers['shape']>(),
  missed: wordOf<Answers['missed']>(),
  onOpen: wordOf<Answers['onOpen']>(),
  recurrence: text,
  timezone: text,
  startAtMs: int8.orNull,
  endAtMs: int8.orNull,
  smearMs: int8,
  revisedAtMs: int8,
  earlier: jsonb.orNull as PgType<unknown> as PgType<EarlierTerms[] | null>,
} as const

export const timing = sql`s.shape, s.missed, s.on_open as "onOpen", s.recurrence, s.timezone,
    ${msOf(sql`s.start_at`)} as "startAtMs", ${msOf(sql`s.end_at`)} as "endAtMs",
    ${msOf(sql`s.smear`)} as "smearMs", ${msOf(sql`s.revised_at`)} as "revisedAtMs",
    ${earlier} as earlier`

/** The cursor so that it reads back as it is, whatever the session's style and names of zones. */
const cursorText = sql`case
      when s.next_fire_at between '1970-01-01T00:00Z' and '9999-12-31T00:00Z'
        then to_char(s.next_fire_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
      else s.next_fire_at::text
    end`

/**
 * The schedules that are due and were not looked at in vain already, the longest due first, and the instant
 * of looking. Nothing is locked: what is decided about a row is fenced by its revision and its cursor.
 */
export const readDue = statement(
  'due-schedules',
  {
    nowMs: int8,
    id: uuid,
    name: text,
    actor: text,
    payloadFactory: text.orNull,
    revision: int4,
    cursor: text,
    cursorMs: int8,
    ...timingColumns,
  },
  sql`select floor(extract(epoch from statement_timestamp()) * 1000)::int8 as "nowMs",
    s.id, s.name, s.actor, s.payload_factory as "payloadFactory", s.revision,
    ${cursorText} as cursor, ${msOf(sql`s.next_fire_at`)} as "cursorMs",
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
  { timezone: text, nowMs: int8 },
  sql`select distinct ahead.timezone, floor(extract(epoch from statement_timestamp()) * 1000)::int8 as "nowMs"
  from (
    select s.timezone from ${schema}.schedules s
    where s.enabled and s.tick_at <= statement_timestamp() + interval '1 minute'
    order by s.tick_at, s.id
    limit 1000
  ) as ahead`,
)
