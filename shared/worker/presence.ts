import { arg, schema, sql, statement } from '../sql/statement.ts'
import { textArray, uuid } from '../sql/types.ts'

/**
 * Says that some queues are served. In a statement of its own, and seldom: a shared row written by every
 * claim would line all claimers up behind each other. In name order, since two workers may write both.
 */
export const markQueues = statement(
  'mark-queues',
  {},
  sql`insert into ${schema}.queues (name, last_claim_at)
  select name, clock_timestamp() from unnest(${arg('queues', textArray)}) as served (name) order by name
  on conflict (name) do update set last_claim_at = excluded.last_claim_at`,
)

/** Takes a worker that ended in order off the list; one that did not is found by its silence. */
export const forgetWorker = statement(
  'forget-worker',
  {},
  sql`delete from ${schema}.workers where id = ${arg('workerId', uuid)}`,
)
