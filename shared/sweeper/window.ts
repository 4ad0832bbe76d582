import { type Fragment, sql } from '../sql/statement.ts'

/** The end of a batch's window `due (id, key)`: how many rows it took, and the key of its last. */
export const windowEnd: Fragment<unknown> = sql`
    (select count(*)::int from due) as taken, last.floor_at, last.floor_id`

/** Where the end of the window comes from: one row, of nulls where the window was empty. */
export const fromWindow: Fragment<unknown> = sql`from (values (1)) as one
  left join (
    select due.key::text as floor_at, due.id as floor_id from due order by due.key desc, due.id desc limit 1
  ) as last on true`

/** What a batch did, from its changed rows `(actor, disposition)`: their number, and which went which way. */
export const tallied = (changed: Fragment<unknown>): Fragment<unknown> => sql`
    (select count(*)::int from ${changed}) as acted,
    (select coalesce(jsonb_agg(ways), '[]') from (
      select actor, disposition, count(*)::int as rows from ${changed} group by actor, disposition
    ) as ways) as tally`

/**
 * The rows of a window as `stamped (…, at)`, each with a stamp of its own: one reading of the clock a
 * statement, and a microsecond a row, so that stamps are distinct and ordered as the window is. The clock is
 * that of the moment, not of the transaction, so that a stamp is never earlier than what happened before.
 */
export const stamped: Fragment<unknown> = sql`
  stamp as materialized (select clock_timestamp() as now),
  stamped as materialized (
    select due.*,
      stamp.now + (row_number() over (order by due.key, due.id) - 1) * interval '1 microsecond' as at
    from stamp, due
  )`
