import { type Fragment, schema, sql } from '../../sql/statement.ts'
import { ageOf, lanesOf, queuesOf } from '../gauge.ts'

/** Never claimed, open and of no schedule: the predicate of `jobs_unclaimed`, verbatim. */
const isOfQueue = sql`j.unclaimed_since is not null and j.status in ('pending', 'scheduled')
        and j.schedule_id is null`

/** The same of a schedule: the predicate of `jobs_unclaimed_by_schedule`. */
const isOfSchedule = sql`j.unclaimed_since is not null and j.status in ('pending', 'scheduled')
        and j.schedule_id is not null`

const oldest = (holds: Fragment<unknown>, order: Fragment<unknown>) => sql`
      select j.id, j.queue, j.schedule_id, j.actor, j.status, j.first_due_at, j.unclaimed_since as since
      from ${schema}.jobs j
      where ${holds} and j.unclaimed_since <= statement_timestamp()
      order by ${order}, j.unclaimed_since
      limit 1`

/**
 * `firsts`: the oldest job that is due and was never claimed, of each queue among the jobs of no schedule,
 * and of each schedule in each queue. The steps of a `with recursive`; both walks hop, so that a pile costs
 * no more than one job.
 */
export const firstUnclaimed = sql`${queuesOf(sql`unclaimed`, isOfQueue)},
  ${lanesOf(sql`schedule_id`, sql`queue`, isOfSchedule)},
  firsts as (
    select first.* from unclaimed
    cross join lateral (${oldest(sql`j.queue = unclaimed.queue and ${isOfQueue}`, sql`j.queue`)}
    ) as first
    union all
    select first.* from lanes
    cross join lateral (${oldest(
      sql`j.schedule_id = lanes.schedule_id and j.queue = lanes.queue and ${isOfSchedule}`,
      sql`j.schedule_id, j.queue`,
    )}
    ) as first
  )`

/** How long a queue's jobs may wait for their first claim; without a row it has the column's default. */
export const unclaimedLimit = sql`coalesce(q.max_unclaimed_age, interval '15 minutes')`

/** Whether work that waits since then is over its limit; infinite limits and instants compare, too. */
export const isOverLimit = (since: Fragment<unknown>, most: Fragment<unknown>) =>
  sql`${since} < statement_timestamp() - ${most}`

/**
 * `owing`: every schedule, and every queue by its other jobs, with unclaimed work that is due: since when,
 * and its limit. What waits in a paused queue is left out. A job whose schedule has no row any more is its
 * queue's.
 */
export const owing = sql`with recursive ${firstUnclaimed},
  owing as (
    select distinct on (s.id, case when s.id is null then f.queue end)
      f.queue, s.name as schedule, f.since, coalesce(s.max_unclaimed_age, ${unclaimedLimit}) as most
    from firsts f
    left join ${schema}.schedules s on s.id = f.schedule_id
    left join ${schema}.queues q on q.name = f.queue
    where q.paused_at is null
    order by s.id, case when s.id is null then f.queue end, f.since
  )`

/** What the log tells of one of them. */
export const owed = sql`select queue, schedule, ${ageOf(sql`since`)} as "ageSeconds",
      extract(epoch from most)::float8 as "limitSeconds"
    from owing`
