import { arg, schema, sql, statement } from '../../sql/statement.ts'
import { bool, int4, int8, jsonb, text, uuid } from '../../sql/types.ts'
import { type Definition, revisionJson } from '../definition.ts'
import { finiteMs } from './finite-ms.ts'

/** One schedule that is created, revived or revised; the caller has locked the row, if there is one. */
export interface DefinitionChange extends Omit<Definition, 'startAtMs' | 'endAtMs'> {
  readonly id: string
  readonly name: string
  readonly action: 'create' | 'edit'
  readonly startAt: string | null
  readonly endAt: string | null
  /** Whether the cursor stays, because something is owed. */
  readonly keeps: boolean
  /** Where the cursor goes else. */
  readonly next: string | null
  /** Whether it runs again, whoever had disabled it; else it stays as it was. */
  readonly enables: boolean
  readonly declared: boolean
  readonly note: string
}

const instant = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

/** A definition in the words of {@link storeDefinitions}. */
export function changeOf(
  definition: Definition,
  change: Omit<DefinitionChange, keyof Definition | 'startAt' | 'endAt' | 'next'> & {
    readonly nextMs: number | null
  },
): DefinitionChange {
  const { startAtMs, endAtMs, ...rest } = definition
  const { nextMs, ...how } = change
  return { ...rest, ...how, startAt: instant(startAtMs), endAt: instant(endAtMs), next: instant(nextMs) }
}

const principal = arg('principal', text)
/** The instant by which the caller reckoned: what is due before it is the earlier revision's. */
const now = sql`${arg('now', text)}::timestamptz`

const given = sql`
  given as materialized (
    select g.*, s.next_fire_at as cursor_from, coalesce(s.revision, 0) + 1 as revision,
      g.enables or coalesce(s.enabled, true) as enabled,
      case when not g.enables then s.disabled_by end as disabled_by
    from jsonb_to_recordset(${arg('changes', jsonb)}) as g (
      id uuid, name text, action text, actor text, queue text, recurrence text, timezone text,
      "startAt" timestamptz, "endAt" timestamptz, "smearMs" float8, shape text, missed text, "onOpen" text,
      payload jsonb, "payloadFactory" text, "maxUnclaimedAgeMs" float8, "ageFollowsPeriod" bool,
      keeps bool, next timestamptz, enables bool, declared bool, note text)
    left join ${schema}.schedules s on s.id = g.id
  )`

/**
 * A row that somebody made by hand has no revision: what it says until now is kept as one, since what is owed
 * under it stays owed.
 */
const kept = sql`
  kept as (
    insert into ${schema}.schedule_revisions (schedule_id, revision, definition, revised_at, principal)
    select s.id, s.revision, ${revisionJson(sql`s`)}, s.revised_at, 'unknown'
    from ${schema}.schedules s
    where s.id = any (array(select id from given))
    on conflict do nothing
  )`

const stored = sql`
  stored as (
    insert into ${schema}.schedules as s (
      id, name, actor, queue, recurrence, timezone, start_at, end_at, smear, shape, missed, on_open,
      payload, payload_factory, max_unclaimed_age, age_follows_period,
      declared, enabled, disabled_by, next_fire_at, revision, revised_at)
    select g.id, g.name, g.actor, g.queue, g.recurrence, g.timezone, g."startAt", g."endAt",
      make_interval(secs => g."smearMs" / 1000), g.shape, g.missed, g."onOpen",
      case when g."payloadFactory" is null then coalesce(g.payload, 'null') end, g."payloadFactory",
      make_interval(secs => g."maxUnclaimedAgeMs" / 1000), g."ageFollowsPeriod",
      g.declared, g.enabled, g.disabled_by, case when g.keeps then g.cursor_from else g.next end,
      g.revision, ${now}
    from given g
    order by g.name
    on conflict (name) do update set
      actor = excluded.actor,
      queue = excluded.queue,
      recurrence = excluded.recurrence,
      timezone = excluded.timezone,
      start_at = excluded.start_at,
      end_at = excluded.end_at,
      smear = excluded.smear,
      shape = excluded.shape,
      missed = excluded.missed,
      on_open = excluded.on_open,
      payload = excluded.payload,
      payload_factory = excluded.payload_factory,
      max_unclaimed_age = excluded.max_unclaimed_age,
      age_follows_period = excluded.age_follows_period,
      declared = excluded.declared,
      enabled = excluded.enabled,
      disabled_by = excluded.disabled_by,
      next_fire_at = excluded.next_fire_at,
      revision = excluded.revision,
      revised_at = excluded.revised_at,
      retired_at = null,
      consecutive_failures = 0,
      last_fire_error = null,
      retry_not_before = null,
      deferred_since = null
    -- Somebody else may have created the name a moment ago: his is another schedule, and stays.
    where s.id = excluded.id
    returning s.*
  )`

/**
 * Stores definitions: rows, their revisions, the decisions about their cursors, and who did it, in one
 * statement. A name that it does not return was created by somebody else meanwhile.
 */
export const storeDefinitions = statement(
  'store-schedule-definitions',
  { id: uuid, name: text, revision: int4, nextMs: int8.orNull },
  sql`with ${given},${kept},${stored},
  revised as (
    insert into ${schema}.schedule_revisions (
      schedule_id, revision, definition, revised_at, principal, declared)
    select s.id, s.revision, ${revisionJson(sql`s`)}, s.revised_at, ${principal}, ${arg('isSync', bool)}
    from stored s
  ),
  decided as (
    insert into ${schema}.schedule_decisions (
      schedule_id, revision, cursor_from, cursor_to, action, principal, note)
    select s.id, s.revision, g.cursor_from, s.next_fire_at, g.action, ${principal}, g.note
    from stored s
    join given g on g.id = s.id
    order by s.name
  ),
  told as (
    insert into ${schema}.operator_audit (principal, action, target, reason, detail)
    select ${principal}, g.action || '_schedule', s.name, ${arg('reason', text.orNull)},
      jsonb_build_object('revision', s.revision, 'note', g.note)
    from stored s
    join given g on g.id = s.id
    order by s.name
  )
  select s.id, s.name, s.revision, ${finiteMs(sql`s.next_fire_at`)} as "nextMs"
  from stored s order by s.name`,
)
