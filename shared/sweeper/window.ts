import { type Fragment, sql } from '../sql/statement.ts'

/** The end of a batch's window `due (id, key)`: how many rows it took, and the key of its last. */
export const windowEnd: Fragment<unknown> = sql`
    (select count(*)::int from due) as taken,
    (select key::text from due order by key desc, id desc limit 1) as floor_at,
    (select id from due order by key desc, id desc limit 1) as floor_id`

/** What a batch did, from its changed rows `(actor, disposition)`: their number, and which went which way. */
export const tallied = (changed: Fragment<unknown>): Fragment<unknown> => sql`
    (select count(*)::int from ${changed}) as acted,
    (select coalesce(jsonb_agg(t), '[]') from (
      select actor, disposition, count(*)::int as rows from ${changed} group by actor, disposition) as t) as tally`
