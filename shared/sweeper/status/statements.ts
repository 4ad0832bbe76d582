import { schema, sql, statement } from '../../sql/statement.ts'
import { bool, float8, int4, int8, text, textArray, timestamptz, uuid } from '../../sql/types.ts'
import { ageOf, bound, queuesOf } from '../gauge.ts'
import { isOverLimit, oldestUnclaimed, unclaimedLimit } from '../gauges/backlog.ts'

/** Every function's state. An instant that never comes is told as none: a Date cannot hold it. */
const finite = (column: ReturnType<typeof sql>) => sql`case when isfinite(${column}) then ${column} end`

export const readFunctions = statement(
  'status-functions',
  {
    function: text,
    lastStartedAt: timestamptz.orNull,
    lastSuccessAt: timestamptz.orNull,
    successAgeSeconds: float8.orNull,
    installedAgeSeconds: float8.orNull,
    outcome: text.orNull,
    lastRows: int8,
    rowsTotal: int8,
    batchSize: int4.orNull,
    batchSizeConfigured: int4.orNull,
    isLatched: bool,
    latchedAt: timestamptz.orNull,
    isDisabled: bool,
    disabledAt: timestamptz.orNull,
    disabledBy: text.orNull,
    quarantined: int8,
    lastError: text.orNull,
    lastErrorAt: timestamptz.orNull,
    recentOutcomes: textArray,
  },
  sql`select s.function, ${finite(sql`s.last_started_at`)} as "lastStartedAt",
    ${finite(sql`s.last_success_at`)} as "lastSuccessAt",
    ${ageOf(sql`s.last_success_at`)} as "successAgeSeconds",
    ${ageOf(sql`s.installed_at`)} as "installedAgeSeconds",
    s.last_outcome as outcome, s.last_rows as "lastRows", s.rows_total as "rowsTotal",
    s.batch_size as "batchSize", s.batch_size_configured as "batchSizeConfigured",
    s.latched_at is not null as "isLatched", ${finite(sql`s.latched_at`)} as "latchedAt",
    s.disabled_at is not null as "isDisabled", ${finite(sql`s.disabled_at`)} as "disabledAt",
    s.disabled_by as "disabledBy",
    (select count(*) from ${schema}.sweep_quarantine q where q.function = s.function) as quarantined,
    s.last_error as "lastError", ${finite(sql`s.last_error_at`)} as "lastErrorAt",
    s.recent_outcomes as "recentOutcomes"
  from ${schema}.sweep_state s
  order by s.function`,
)

/**
 * Open jobs by queue, counted up to a bound. A queue is known by its row or by its jobs. Ended jobs are not
 * counted, since no index serves that.
 */
export const readQueues = statement(
  'status-queues',
  {
    queue: text,
    paused: bool,
    pending: int8,
    scheduled: int8,
    running: int8,
    oldestUnclaimedAgeSeconds: float8.orNull,
    unclaimedLimitSeconds: float8,
    overLimit: bool,
    lastClaimAt: timestamptz.orNull,
  },
  sql`with recursive ${queuesOf(sql`ready`, sql`j.status = 'pending'`)},
  ${queuesOf(sql`later`, sql`j.status = 'scheduled'`)},
  running as (
    select held.queue, count(*) as jobs
    from (
      select j.queue from ${schema}.jobs j where j.status = 'running'
      order by j.reclaim_at, j.id limit ${bound}
    ) as held
    group by held.queue
  ), names as (
    select queue from ready where queue is not null
    union select queue from later where queue is not null
    union select queue from running
    union select name from ${schema}.queues
  )
  select names.queue, q.paused_at is not null as paused,
    (select count(*) from (
      select from ${schema}.jobs j where j.status = 'pending' and j.queue = names.queue
      order by j.queue, j.actor limit ${bound}) as counted) as pending,
    (select count(*) from (
      select from ${schema}.jobs j where j.status = 'scheduled' and j.queue = names.queue
      order by j.queue, j.scheduled_at, j.id limit ${bound}) as counted) as scheduled,
    coalesce(running.jobs, 0) as running,
    ${ageOf(sql`oldest.since`)} as "oldestUnclaimedAgeSeconds",
    extract(epoch from ${unclaimedLimit})::float8 as "unclaimedLimitSeconds",
    coalesce(q.paused_at is null and ${isOverLimit(sql`oldest.since`, unclaimedLimit)}, false) as "overLimit",
    ${finite(sql`q.last_claim_at`)} as "lastClaimAt"
  from names
  left join running on running.queue = names.queue
  left join ${schema}.queues q on q.name = names.queue
  left join lateral (${oldestUnclaimed(sql`names.queue`)}) as oldest on true
  order by names.queue`,
)

/** The workers that were seen last. */
export const readWorkers = statement(
  'status-workers',
  { id: uuid, name: text, hostname: text, kind: text, seenAgeSeconds: float8 },
  sql`select w.id, w.name, w.hostname, w.kind, ${ageOf(sql`w.last_seen_at`)} as "seenAgeSeconds"
  from ${schema}.workers w
  order by w.last_seen_at desc, w.id
  limit ${bound}`,
)
