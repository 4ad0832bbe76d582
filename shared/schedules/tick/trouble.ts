import { arg, schema, sql, statement } from '../../sql/statement.ts'
import { bool, int4, jsonb, uuid } from '../../sql/types.ts'

/** What kept a schedule from firing. A strike counts against it; a deferral does not. */
export interface Trouble {
  readonly id: string
  readonly revision: number
  readonly cursor: string
  readonly kind: 'strike' | 'defer'
  /** Storable text: mended before. */
  readonly error: string
}

/**
 * Notes what kept schedules from firing; their instants stay owed. A strike is tried again after 1, 4, 16 …
 * minutes, an hour at most, and as many in a row as the threshold disable the schedule; a deferral is tried
 * again after 15 seconds. Schedules that changed meanwhile, or that somebody has locked, are left alone.
 */
export const noteTrouble = statement(
  'note-schedule-trouble',
  { id: uuid, isDisabled: bool },
  sql`with stamp as materialized (select clock_timestamp() as now),
  held as materialized (
    select s.id, g.error, g.kind = 'strike' as is_strike,
      g.kind = 'strike' and s.consecutive_failures + 1 >= ${arg('threshold', int4)} as is_last
    from jsonb_to_recordset(${arg('troubles', jsonb)}) as g (
      id uuid, revision int, cursor text, kind text, error text)
    join ${schema}.schedules s on s.id = g.id
    where s.revision = g.revision and s.next_fire_at = g.cursor::timestamptz and s.enabled
    order by s.id
    for no key update of s skip locked
  ),
  noted as (
    update ${schema}.schedules s
    set
      last_fire_error = h.error,
      consecutive_failures = s.consecutive_failures + h.is_strike::int,
      retry_not_before = stamp.now + case
        when h.is_strike
          then least(interval '1 minute' * power(4, least(s.consecutive_failures, 10)), interval '1 hour')
        else interval '15 seconds'
      end,
      deferred_since = case when h.is_strike then null else coalesce(s.deferred_since, stamp.now) end,
      enabled = not h.is_last,
      disabled_by = case when h.is_last then 'auto' end
    from stamp, held h
    where s.id = h.id and s.id = any (array(select id from held))
    returning s.id, s.revision, s.next_fire_at, h.is_last, h.error
  ),
  told as (
    insert into ${schema}.schedule_decisions (
      schedule_id, revision, decided_at, cursor_from, cursor_to, action, note)
    select n.id, n.revision, stamp.now, n.next_fire_at, n.next_fire_at, 'disable', n.error
    from stamp, noted n
    where n.is_last
  )
  select id, is_last as "isDisabled" from noted`,
)
