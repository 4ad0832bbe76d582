import { type Fragment, schema, sql } from '../../sql/statement.ts'
import { notSetAside } from '../define.ts'
import { ageOf, bound, type Gauge, gaugeOf, groupsOf, queuesOf } from '../gauge.ts'

/** Never claimed, open and of no schedule: the predicate of `jobs_unclaimed`, verbatim. */
const isUnclaimed = sql`j.unclaimed_since is not null and j.status in ('pending', 'scheduled')
        and j.schedule_id is null`

/** The same of a schedule: the predicate of `jobs_unclaimed_by_schedule`. */
const isUnclaimedOfSchedule = sql`j.unclaimed_since is not null and j.status in ('pending', 'scheduled')
        and j.schedule_id is not null`

/** Open, not running, and claimed before: the predicate of `jobs_waiting` and of `jobs_unfinished`. */
const isWaiting = sql`j.unclaimed_since is null and j.status in ('pending', 'scheduled')`

/** How long a queue's jobs may wait for their first claim; without a row it has the column's default. */
export const unclaimedLimit = sql`coalesce(q.max_unclaimed_age, interval '15 minutes')`

/** The instant since which a queue's oldest unclaimed job waits; no row where none is due. */
export const oldestUnclaimed = (queue: ReturnType<typeof sql>) => sql`
      select j.unclaimed_since as since from ${schema}.jobs j
      where j.queue = ${queue} and ${isUnclaimed} and j.unclaimed_since <= statement_timestamp()
      order by j.queue, j.unclaimed_since
      limit 1`

/** `owing`: every queue that is not paused and has unclaimed work that is due, since when, and its limit. */
const owing = sql`with recursive ${queuesOf(sql`unclaimed`, isUnclaimed)},
  owing as (
    select unclaimed.queue, first.since, ${unclaimedLimit} as most
    from unclaimed
    cross join lateral (${oldestUnclaimed(sql`unclaimed.queue`)}) as first
    left join ${schema}.queues q on q.name = unclaimed.queue
    where q.paused_at is null
  )`

const unclaimedRow = sql`select queue, ${ageOf(sql`since`)} as "ageSeconds",
      extract(epoch from most)::float8 as "limitSeconds"
    from owing`

/** Whether work that waits since then is over its limit; infinite limits and instants compare, too. */
export const isOverLimit = (since: ReturnType<typeof sql>, most: ReturnType<typeof sql>) =>
  sql`${since} < statement_timestamp() - ${most}`

const waiting = sql`with recursive ${queuesOf(sql`waiting`, isWaiting)},
  found as (
    select waiting.queue, ${ageOf(sql`first.scheduled_at`)} as "ageSeconds"
    from waiting
    cross join lateral (
      select j.scheduled_at from ${schema}.jobs j
      where j.queue = waiting.queue and ${isWaiting} and j.scheduled_at <= statement_timestamp()
      order by j.queue, j.scheduled_at
      limit 1
    ) as first
    left join ${schema}.queues q on q.name = waiting.queue
    where q.paused_at is null
  )`

/** Of each group in `groups`: its oldest job that waits for a first claim. */
const oldestFirsts = (group: Fragment<unknown>, groups: Fragment<unknown>, holds: Fragment<unknown>) => sql`
    select first.* from ${groups}
    cross join lateral (
      select j.id, j.queue, j.actor, j.status, j.first_due_at from ${schema}.jobs j
      where j.${group} = ${groups}.${group} and ${holds} and j.unclaimed_since <= statement_timestamp()
      order by j.${group}, j.unclaimed_since
      limit 1
    ) as first`

/**
 * Since when the oldest open jobs were first due: of each queue, and of each schedule, the oldest that waits
 * for a first claim; one that was claimed before; and the oldest running one of as many as the bound, by
 * their deadlines.
 */
const unfinished = sql`with recursive ${queuesOf(sql`unclaimed`, isUnclaimed)},
  ${groupsOf(sql`schedule_id`, sql`scheduled`, isUnclaimedOfSchedule)},
  oldest as (
    ${oldestFirsts(sql`queue`, sql`unclaimed`, isUnclaimed)}
    union all
    ${oldestFirsts(sql`schedule_id`, sql`scheduled`, isUnclaimedOfSchedule)}
    union all
    (select j.id, j.queue, j.actor, j.status, j.first_due_at from ${schema}.jobs j
      where ${isWaiting}
      order by j.first_due_at
      limit 1)
    union all
    (select held.* from (
        select j.id, j.queue, j.actor, j.status, j.first_due_at from ${schema}.jobs j
        where j.status = 'running'
        order by j.reclaim_at, j.id
        limit ${bound}
      ) as held
      order by held.first_due_at
      limit 1)
  ),
  found as (
    select id as job, queue, actor, status, ${ageOf(sql`first_due_at`)} as "ageSeconds"
    from oldest where first_due_at <= statement_timestamp()
  )`

/** What is due, and neither promoted nor set aside: of the rows that fail, `RowsQuarantined` tells. */
const isDue = sql`j.status = 'scheduled' and j.scheduled_at <= statement_timestamp()
        and ${notSetAside('promotion')}`

const due = sql`with recursive ${queuesOf(sql`later`, sql`j.status = 'scheduled'`)},
  found as (
    select later.queue, late.jobs, ${ageOf(sql`late.since`)} as "ageSeconds"
    from later
    cross join lateral (
      select count(*) as jobs, min(counted.scheduled_at) as since
      from (
        select j.scheduled_at from ${schema}.jobs j
        where j.queue = later.queue and ${isDue}
        order by j.queue, j.scheduled_at, j.id
        limit ${bound}
      ) as counted
    ) as late
    where late.jobs > 0
  )`

const oldestFirst = sql`"ageSeconds" desc, queue`
const oldestAge = { value: sql`max("ageSeconds")`, worstFirst: oldestFirst }

export const backlogGauges: readonly Gauge[] = [
  {
    name: 'UnclaimedOverLimit',
    unit: 'Count',
    doc: 'queues, no paused ones, whose oldest job that nobody has ever claimed waits longer than they allow',
    statement: gaugeOf(
      'gauge-unclaimed-over-limit',
      sql`${owing}, found as (${unclaimedRow} where ${isOverLimit(sql`since`, sql`most`)})`,
      { value: sql`count(*)`, worstFirst: oldestFirst },
    ),
  },
  {
    name: 'OldestUnclaimedAgeSeconds',
    unit: 'Seconds',
    doc: 'since when the oldest job of a queue that is not paused is due without ever having been claimed',
    statement: gaugeOf('gauge-oldest-unclaimed', sql`${owing}, found as (${unclaimedRow})`, oldestAge),
  },
  {
    name: 'OldestWaitingAgeSeconds',
    unit: 'Seconds',
    doc: 'since when a job that was claimed before is due again and not running, no queue that is paused',
    statement: gaugeOf('gauge-oldest-waiting', waiting, oldestAge),
  },
  {
    name: 'OldestUnfinishedAgeSeconds',
    unit: 'Seconds',
    doc: 'since when the oldest job that has not ended was first due, in whatever queue',
    statement: gaugeOf('gauge-oldest-unfinished', unfinished, oldestAge),
  },
  {
    name: 'JobsDueNotPromoted',
    unit: 'Count',
    doc: 'jobs that are due and still `scheduled`; at most 10,000 a queue are counted',
    statement: gaugeOf('gauge-due-not-promoted', due, {
      value: sql`coalesce(sum(jobs), 0)`,
      worstFirst: sql`jobs desc, queue`,
    }),
  },
  {
    name: 'OldestDueNotPromotedSeconds',
    unit: 'Seconds',
    doc: 'since when the oldest of them is due',
    statement: gaugeOf('gauge-oldest-due-not-promoted', due, oldestAge),
  },
]
