import { schema, sql } from '../sql/statement.ts'

/**
 * How many further jobs the actor of a row `v (actor, max_pending, singleton, queues)` takes, of those that a
 * tick is about to store; what the tick itself supersedes, in `locked`, makes room. A singleton takes one
 * where none of its jobs is open, whoever enqueued it. The counts end at what they are compared with, and
 * each walks an index of its own.
 */
export const pendingRoom = sql`least(
      v.max_pending - (
        select count(*) from (
          select from ${schema}.jobs j
          where j.queue = any (v.queues) and j.actor = v.actor and j.status = 'pending'
            and j.id not in (select id from locked where status <> 'running')
          limit v.max_pending
        ) as waiting),
      case when v.singleton then 1 - (
        exists (
          select from ${schema}.jobs j
          where j.queue = any (v.queues) and j.actor = v.actor and j.status = 'pending'
            and j.id not in (select id from locked where status <> 'running'))
        or exists (
          select from ${schema}.jobs j
          where j.queue = any (v.queues) and j.actor = v.actor and j.status = 'scheduled'
            and j.id not in (select id from locked where status <> 'running'))
        or exists (select from ${schema}.jobs j where j.actor = v.actor and j.status = 'running')
      )::int end)`
