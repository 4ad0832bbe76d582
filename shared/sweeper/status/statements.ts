import type { ScheduleStatus } from '../../core/status.ts'
import { schema, sql, statement } from '../../sql/statement.ts'
import { bool, float8, int4, int8, type PgType, text, textArray, timestamptz, uuid } from '../../sql/types.ts'
import { ageOf, bound, queuesOf } from '../gauge.ts'
import { firstUnclaimed, isOverLimit, unclaimedLimit } from '../gauges/unclaimed.ts'

/** An instant that never comes, or lies beyond the last one of a Date, is told as none. */
const finite = (column: ReturnType<typeof sql>) =>
  sql`case when ${column} > '-infinity' and ${column} < '275760-09-13 00:00Z' then ${column} end`

/** Every function's state. */
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
  sql`with recursive ${firstUnclaimed}, oldest as (
    select f.queue, min(f.since) as since
    from firsts f
    left join ${schema}.schedules s on s.id = f.schedule_id
    where s.id is null
    group by f.queue
  ),
  ${queuesOf(sql`ready`, sql`j.status = 'pending'`)},
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
  left join oldest on oldest.queue = names.queue
  order by names.queue`,
)

/** What a paused queue holds back has an age and no limit. */
export const readSchedules = statement(
  'status-schedules',
  {
    name: text,
    actor: text,
    enabled: bool,
    disabledBy: text.orNull as PgType<unknown> as PgType<ScheduleStatus['disabledBy']>,
    degraded: bool,
    nextFireAt: timestamptz.orNull,
    lastFiredAt: timestamptz.orNull,
    consecutiveFailures: int4,
    lastFireError: text.orNull,
    deferredSince: timestamptz.orNull,
    oldestUnclaimedAgeSeconds: float8.orNull,
    unclaimedLimitSeconds: float8,
    overLimit: bool,
  },
  sql`with recursive ${firstUnclaimed}, owed as (
    select f.schedule_id, min(f.since) as since, min(f.since) filter (where q.paused_at is null) as limited
    from firsts f
    left join ${schema}.queues q on q.name = f.queue
    where f.schedule_id is not null
    group by f.schedule_id
  ),
  judged as (
    select s.*, owed.since,
      coalesce(${isOverLimit(sql`owed.limited`, sql`s.max_unclaimed_age`)}, false) as is_over,
      s.retired_at is null and coalesce(
        case when s.enabled then s.deferred_since is not null else s.disabled_by = 'auto' end, false)
        as is_degraded
    from ${schema}.schedules s
    left join owed on owed.schedule_id = s.id
    where s.retired_at is null or owed.since is not null
  )
  select s.name, s.actor, s.enabled, s.disabled_by as "disabledBy", s.is_degraded as degraded,
    ${finite(sql`s.next_fire_at`)} as "nextFireAt", ${finite(sql`s.last_fired_at`)} as "lastFiredAt",
    s.consecutive_failures as "consecutiveFailures", s.last_fire_error as "lastFireError",
    ${finite(sql`s.deferred_since`)} as "deferredSince",
    ${ageOf(sql`s.since`)} as "oldestUnclaimedAgeSeconds",
    extract(epoch from s.max_unclaimed_age)::float8 as "unclaimedLimitSeconds", s.is_over as "overLimit"
  from judged s
  order by s.is_over desc, s.is_degraded desc, s.name
  limit ${bound}`,
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
