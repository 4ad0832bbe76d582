import type { Settings } from '../core/read-settings.ts'
import { curve, hasBudget, retryDelay } from '../sql/retry-curve.ts'
import { schema, sql } from '../sql/statement.ts'
import { defineSweep, limit } from '../sweeper/define.ts'
import { batchOf, jobWindow, stamped, untilNextOf } from '../sweeper/window.ts'

export { wholeWindow } from '../sweeper/define.ts'

const isExpired = sql`status = 'running' and reclaim_at <= statement_timestamp()`
const window = jobWindow('expired_locks', isExpired, sql`reclaim_at`)

/**
 * One window over `reclaim_at`, the earlier of both deadlines. The lease is the cause when it has passed,
 * else the heartbeat's deadline is. A cancel in flight, or a newer instance that superseded the job, ends it
 * whatever its budget: it must never come back.
 */
const judged = sql`
  with due as materialized (
    select
      j.id, j.ctid as place, j.reclaim_at as key, j.status as from_state,
      j.actor, j.attempt, j.claim_epoch, j.scheduled_at, j.started_at, j.locked_by,
      case
        when j.lock_expires_at <= statement_timestamp() then 'lock_expired'
        else 'heartbeat_timeout'
      end as cause,
      case
        when j.cancel_requested_at is not null or j.superseded_by is not null then 'cancelled'
        when ${hasBudget} then 'repended'
        else 'crashed'
      end as disposition,${curve}
    from ${schema}.jobs j
    where ${window.mayTake}
    order by reclaim_at, id
    limit ${limit}
    for update skip locked
  ),
  ${stamped}`

const message = sql`case v.cause
        when 'lock_expired' then 'the lease ended without a heartbeat: its worker died, hangs or is cut off'
        else 'no heartbeat came within the heartbeat timeout of the job'
      end`

/** What each disposition makes of the row; the stamp of the change is the one of its event. */
const reclaimed = sql`
  reclaimed as (
    update ${schema}.jobs j
    set
      status = case v.disposition
        when 'repended' then 'scheduled'
        else v.disposition
      end::${schema}.job_status,
      scheduled_at = case v.disposition when 'repended' then v.at + ${retryDelay} else j.scheduled_at end,
      finished_at = case v.disposition when 'repended' then null else v.at end,
      started_at = case v.disposition when 'repended' then null else j.started_at end,
      error_class = case v.disposition when 'cancelled' then j.error_class else 'WorkerCrashed' end,
      error_message = case v.disposition when 'cancelled' then j.error_message else ${message} end,
      error_stack = null,
      locked_by = null, lock_expires_at = null, heartbeat_expires_at = null
    from stamped v
    where j.ctid = v.place and j.ctid = any (array(select place from stamped))
    returning v.*, j.status as to_state, ${message} as message
  )`

/** One attempt a job; where its number was recorded already, that record was there first and stays. */
const recorded = sql`
  recorded as (
    insert into ${schema}.job_attempts (
      job_id, attempt, claim_epoch, worker_id, worker_name, due_at, started_at, finished_at,
      outcome, error_class, error_message, duration_ms)
    select
      r.id, r.attempt, r.claim_epoch, r.locked_by, w.name, r.scheduled_at, r.started_at, r.at,
      case r.disposition when 'cancelled' then 'cancelled' else 'crashed' end, 'WorkerCrashed', r.message,
      extract(epoch from r.at - r.started_at) * 1000
    from reclaimed r
    left join (
      select id, name from ${schema}.workers where id = any (array(select locked_by from reclaimed))
    ) as w on w.id = r.locked_by
    on conflict do nothing
  )`

const told = sql`
  told as (
    insert into ${schema}.job_events (job_id, occurred_at, kind, detail)
    select r.id, r.at, 'state_change', jsonb_strip_nulls(jsonb_build_object(
      'from_state', r.from_state, 'to_state', r.to_state, 'reason', 'lock_expired', 'cause', r.cause,
      'worker_id', r.locked_by, 'attempt', r.attempt, 'actor', r.actor))
    from reclaimed r
    order by r.at
  )`

/** One batch of it: the function's, and a few rows at a time the repair's of an empty claim. */
export const reclaim = batchOf(
  'expired_locks',
  sql`${judged},${reclaimed},${recorded},${told}`,
  sql`reclaimed`,
)

/** What a reclaim needs of the settings, beside its window. */
export const reclaimArgs = (settings: Settings) => ({ maxBackoffSeconds: settings.maxRetryBackoff / 1000 })

export const expiredLocks = defineSweep({
  purpose: 'expired_locks',
  title: 'Takes jobs back from workers that fell silent',
  why: `A worker that dies leaves its jobs \`running\` for ever. Each carries two deadlines, the end of its
lease and, where its actor asks for one, of its heartbeat; the earlier stands in one indexed column, because
two windows turned quadratic when a whole fleet died. A job with budget left goes back to \`scheduled\` by its
own retry curve, one without is \`crashed\`, and one whose cancel was in flight is \`cancelled\`, whatever its
budget. A late worker is fenced off by the claim's epoch.`,
  cadenceMinutes: 1,
  pulse: {
    interval: 'sweepInterval',
    untilNext: untilNextOf('expired_locks', { isWaiting: sql`status = 'running'`, key: sql`reclaim_at` }),
  },
  batchSize: 'eventWriterBatchSize',
  statementTimeout: 'eventWriterStatementTimeoutMs',
  offAtZero: null,
  drains: true,
  breaker: true,
  flushes: true,
  moves: [
    ['running', 'scheduled'],
    ['running', 'crashed'],
    ['running', 'cancelled'],
  ],
  args: reclaimArgs,
  arms: [{ table: 'jobs', index: 'jobs_expired_locks', batch: reclaim, eligible: window.eligible }],
  head: window.head,
})
