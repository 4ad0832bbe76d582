import { arg, schema, sql, statement } from '../../sql/statement.ts'
import { int4, int8, jsonb, text, uuid } from '../../sql/types.ts'
import { finiteMs } from './finite-ms.ts'

/** One schedule whose state changes and whose definition does not; the caller has locked its row. */
export interface StateChange {
  readonly id: string
  readonly action: 'pause' | 'resume' | 'retire'
  /** Whether the cursor moves, and where to. */
  readonly moves: boolean
  readonly next: string | null
  /** Owed instants that nobody will decide about any more, and the first and the last of them. */
  readonly missed: number
  readonly missedFrom: string | null
  readonly missedTo: string | null
  readonly note: string
}

const principal = arg('principal', text)

/**
 * Pauses, resumes or retires schedules, with the decision about each cursor and who did it. A resume forgets
 * what failed, whoever had disabled it.
 */
export const storeStates = statement(
  'store-schedule-states',
  { id: uuid, name: text, revision: int4, nextMs: int8.orNull },
  sql`with given as materialized (
    select g.*, s.next_fire_at as cursor_from
    from jsonb_to_recordset(${arg('changes', jsonb)}) as g (
      id uuid, action text, moves bool, next timestamptz, missed int8, "missedFrom" timestamptz,
      "missedTo" timestamptz, note text)
    join ${schema}.schedules s on s.id = g.id
  ),
  stored as (
    update ${schema}.schedules s
    set
      enabled = case g.action when 'pause' then false when 'resume' then true else s.enabled end,
      disabled_by = case g.action when 'pause' then 'operator' when 'retire' then s.disabled_by end,
      next_fire_at = case when g.moves then g.next else s.next_fire_at end,
      retired_at = case g.action when 'retire' then clock_timestamp() end,
      consecutive_failures = case g.action when 'resume' then 0 else s.consecutive_failures end,
      last_fire_error = case when g.action <> 'resume' then s.last_fire_error end,
      retry_not_before = case when g.action <> 'resume' then s.retry_not_before end,
      deferred_since = case when g.action <> 'resume' then s.deferred_since end
    from given g
    where s.id = g.id and s.id = any (array(select id from given))
    returning s.id, s.name, s.revision, s.next_fire_at, g.action, g.cursor_from, g.note, g.missed,
      g."missedFrom", g."missedTo"
  ),
  decided as (
    insert into ${schema}.schedule_decisions (
      schedule_id, revision, cursor_from, cursor_to, action, missed, missed_from, missed_to, principal, note)
    select s.id, s.revision, s.cursor_from, s.next_fire_at, s.action, s.missed, s."missedFrom",
      s."missedTo", ${principal}, s.note
    from stored s
    order by s.name
  ),
  told as (
    insert into ${schema}.operator_audit (principal, action, target, reason, detail)
    select ${principal}, s.action || '_schedule', s.name, ${arg('reason', text.orNull)},
      jsonb_build_object('note', s.note)
    from stored s
    order by s.name
  )
  select s.id, s.name, s.revision, ${finiteMs(sql`s.next_fire_at`)} as "nextMs"
  from stored s order by s.name`,
)
