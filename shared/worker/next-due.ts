import { arg, schema, sql, statement } from '../sql/statement.ts'
import { float8, textArray } from '../sql/types.ts'

/** Milliseconds until the next job of some queues falls due, by the database's clock; null: none waits. */
export const untilNextDue = statement(
  'until-next-due',
  { ms: float8.orNull },
  sql`select (extract(epoch from min(next.scheduled_at) - clock_timestamp()) * 1000)::float8 as ms
  from unnest(${arg('queues', textArray)}) as q (queue)
  cross join lateral (
    select scheduled_at from ${schema}.jobs
    where status = 'scheduled' and queue = q.queue and scheduled_at < 'infinity'
    order by scheduled_at, id
    limit 1
  ) as next`,
)
