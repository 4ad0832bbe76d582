import { schema, sql } from '../../sql/statement.ts'

/** What a tick itself supersedes, in `locked`, makes room. */
const stays = sql`j.id not in (select id from locked where status <> 'running')`

/**
 * How many further jobs an actor takes, of those that a tick is about to store, as `places` of a row
 * `v (actor, max_pending, singleton, queues)`. A singleton takes one where none of its jobs is open, whoever
 * enqueued it. The count ends at what it is compared with, and is ordered as its index is, or a table full of
 * jobs of that actor would look quickest to read whole.
 */
export const placesLeft = sql`
      select least(
        v.max_pending - waiting.jobs,
        case when v.singleton then 1 - (
          waiting.jobs > 0
          or exists (
            select from ${schema}.jobs j
            where j.queue = any (v.queues) and j.actor = v.actor and j.status = 'scheduled' and ${stays})
          or exists (select from ${schema}.jobs j where j.actor = v.actor and j.status = 'running')
        )::int end) as places
      from (
        select count(*) as jobs
        from (
          select from unnest(v.queues) as q (queue)
          cross join lateral (
            select from ${schema}.jobs j
            where j.queue = q.queue and j.actor = v.actor and j.status = 'pending' and ${stays}
            order by j.priority desc, j.scheduled_at, j.id
            limit coalesce(v.max_pending, 1)
          ) as ready
          limit coalesce(v.max_pending, 1)
        ) as counted
      ) as waiting`
