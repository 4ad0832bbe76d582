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
    (select coalesce(jsonb_agg(t), '[]') from (
      select actor, disposition, count(*)::int as rows from ${changed} group by actor, disposition) as t) as tally`
