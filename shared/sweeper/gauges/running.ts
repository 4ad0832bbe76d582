import { schema, sql } from '../../sql/statement.ts'
import { notSetAside } from '../define.ts'
import { ageOf, bound, type Gauge, gaugeOf, lanesOf, queuesOf } from '../gauge.ts'

/**
 * What `expired_locks` should have taken. A cancel in flight is no dead worker: its lease was raised to what
 * the grace needs, and its worker no longer extends it. Of rows set aside, `RowsQuarantined` tells.
 */
const expired = sql`with found as (
    select j.id as job, j.queue, j.actor, j.locked_by as worker, ${ageOf(sql`j.reclaim_at`)} as "ageSeconds"
    from ${schema}.jobs j
    where j.status = 'running' and j.reclaim_at <= statement_timestamp() - interval '3 minutes'
      and j.cancel_requested_at is null and ${notSetAside('expired_locks')}
    order by j.reclaim_at, j.id
    limit ${bound}
  )`

/** A worker marks its queues every 30 s, whether there is work or not. */
const unserved = sql`with recursive ${queuesOf(sql`ready`, sql`j.status = 'pending'`)},
  ${queuesOf(sql`later`, sql`j.status = 'scheduled'`)},
  due as (
    select ready.queue from ready where ready.queue is not null
    union
    select later.queue from later
    cross join lateral (
      -- With an equality the order of another index would do, which walks through all other queues' rows.
      select j.scheduled_at from ${schema}.jobs j
      where j.queue >= later.queue and j.status = 'scheduled'
      order by j.queue, j.scheduled_at, j.id
      limit 1
    ) as first
    where first.scheduled_at <= statement_timestamp()
  ),
  found as (
    select due.queue, ${ageOf(sql`q.last_claim_at`)} as "claimAgeSeconds"
    from due left join ${schema}.queues q on q.name = due.queue
    where q.paused_at is null
      and (q.last_claim_at is null or q.last_claim_at < statement_timestamp() - interval '3 minutes')
  )`

/** It hops over the lanes of the claim's index: a queue with an actor each. */
const stranded = sql`with recursive ${lanesOf(sql`queue`, sql`actor`, sql`j.status = 'pending'`)},
  found as (
    select lanes.queue, lanes.actor, held.jobs
    from lanes
    cross join lateral (
      select count(*) as jobs from (
        select from ${schema}.jobs j
        where j.status = 'pending' and j.queue = lanes.queue and j.actor = lanes.actor
        order by j.queue, j.actor, j.priority desc, j.scheduled_at, j.id
        limit ${bound}
      ) as counted
    ) as held
    where lanes.actor not in (select actor from ${schema}.actors)
  )`

export const runningGauges: readonly Gauge[] = [
  {
    name: 'RunningLeaseExpired',
    unit: 'Count',
    doc: 'running jobs whose lease or heartbeat has been over for 3 minutes, no cancels; at most 10,000',
    statement: gaugeOf('gauge-running-lease-expired', expired, {
      value: sql`count(*)`,
      worstFirst: sql`"ageSeconds" desc, job`,
    }),
  },
  {
    name: 'QueuesUnserved',
    unit: 'Count',
    doc: 'queues with work that is due, not paused, where nobody has tried to claim for 3 minutes',
    statement: gaugeOf('gauge-queues-unserved', unserved, {
      value: sql`count(*)`,
      worstFirst: sql`"claimAgeSeconds" desc nulls first, queue`,
    }),
  },
  {
    name: 'JobsStranded',
    unit: 'Count',
    doc: 'ready jobs of an actor that nobody has defined; at most 10,000 of each queue and actor are counted',
    statement: gaugeOf('gauge-jobs-stranded', stranded, {
      value: sql`coalesce(sum(jobs), 0)`,
      worstFirst: sql`jobs desc, queue, actor`,
    }),
  },
]
