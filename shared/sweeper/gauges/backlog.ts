import { schema, sql } from '../../sql/statement.ts'
import { notSetAside } from '../define.ts'
import { ageOf, bound, type Gauge, gaugeOf, queuesOf } from '../gauge.ts'
import { firstUnclaimed, isOverLimit, owed, owing } from './unclaimed.ts'

/** Open, not running, and claimed before: the predicate of `jobs_waiting` and of `jobs_unfinished`. */
const isWaiting = sql`j.unclaimed_since is null and j.status in ('pending', 'scheduled')`

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

/**
 * Since when the oldest open jobs were first due: the oldest that waits for a first claim, of each queue and
 * each schedule; one that was claimed before; and the oldest running one of as many as the bound, by their
 * deadlines.
 */
const unfinished = sql`with recursive ${firstUnclaimed},
  oldest as (
    select f.id, f.queue, f.actor, f.status, f.first_due_at from firsts f
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
/** A queue by its own jobs has no schedule to be told. */
const owedFirst = {
  worstFirst: sql`${oldestFirst}, schedule nulls first`,
  row: sql`jsonb_strip_nulls(to_jsonb(worst))`,
}
const oldestAge = { value: sql`max("ageSeconds")`, worstFirst: oldestFirst }

export const backlogGauges: readonly Gauge[] = [
  {
    name: 'UnclaimedOverLimit',
    unit: 'Count',
    doc:
      'queues, by their jobs of no schedule, and schedules, whose oldest job that nobody has ever claimed ' +
      'waits longer than they allow; no paused queues, and nothing that waits in them',
    statement: gaugeOf(
      'gauge-unclaimed-over-limit',
      sql`${owing}, found as (${owed} where ${isOverLimit(sql`since`, sql`most`)})`,
      { value: sql`count(*)`, ...owedFirst },
    ),
  },
  {
    name: 'OldestUnclaimedAgeSeconds',
    unit: 'Seconds',
    doc:
      'since when the oldest job is due without ever having been claimed, of a queue that is not paused or ' +
      'of a schedule in one; through supersedes, since the first of them was due',
    statement: gaugeOf('gauge-oldest-unclaimed', sql`${owing}, found as (${owed})`, {
      value: sql`max("ageSeconds")`,
      ...owedFirst,
    }),
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
