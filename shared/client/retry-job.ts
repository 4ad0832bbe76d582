import { InvalidInputError, JobArchivedError } from '../core/errors.ts'
import type { JobStatus } from '../core/states.ts'
import { arg, type Fragment, schema, sql, statement } from '../sql/statement.ts'
import { bool, type PgType, text, uuid } from '../sql/types.ts'

/** The states that a job is redriven from. */
export type RetriedFrom = 'failed' | 'crashed' | 'cancelled'

/** What a redrive did. */
export interface Retried {
  readonly id: string
  /** The state that it was in. */
  readonly from: RetriedFrom
}

const id = arg('id', uuid)

/**
 * The schedule's row is locked before its job, as a tick does: a tick that counts what is open leaves the
 * schedule alone while a job of it comes back, and a job comes back only when no tick is counting.
 */
const held = sql`
  schedule as materialized (
    select s.id from ${schema}.schedules s
    where s.id = (select j.schedule_id from ${schema}.jobs j where j.id = ${id})
    for share of s
  ),
  held as materialized (
    select j.id, j.status as from_state
    from ${schema}.jobs j
    where j.id = ${id} and (select count(*) from schedule) >= 0
    for no key update of j
  )`

/**
 * Its attempts so far cost nothing any more. What is known of when it was first due and of whether anybody
 * ever claimed it stays, so that nobody looks younger to the pager; so does what its idempotency key holds.
 * A deadline that has passed said when the job had to have begun at first: kept, it would fail the job again.
 */
const redriven = sql`
  redriven as (
    update ${schema}.jobs j
    set
      status = 'pending',
      scheduled_at = stamp.now,
      uncharged = j.attempt,
      schedule_to_close = case when j.schedule_to_close > stamp.now then j.schedule_to_close end,
      started_at = null, finished_at = null, prune_at = null,
      cancel_requested_at = null, cancel_reason = null, superseded_by = null,
      error_class = null, error_message = null, error_stack = null,
      result = null, result_size_bytes = null, result_expires_at = null,
      progress = null
    from stamp, held h
    where j.id = h.id and h.from_state in ('failed', 'crashed', 'cancelled')
    returning j.id, h.from_state, j.attempt, j.actor, stamp.now as at
  ),
  told as (
    insert into ${schema}.job_events (job_id, occurred_at, kind, detail)
    select r.id, r.at, 'state_change', jsonb_build_object(
      'from_state', r.from_state, 'to_state', 'pending', 'reason', 'redriven',
      'attempt', r.attempt, 'actor', r.actor)
    from redriven r
  )`

/** Where its last event is a redrive, nothing but a claim has happened since. */
const retryWith = <Args>(name: string, audit: Fragment<Args>) =>
  statement(
    name,
    {
      isRetried: bool,
      state: text.orNull as PgType<unknown> as PgType<JobStatus | null>,
      isArchived: bool,
      lastRetriedFrom: text.orNull as PgType<unknown> as PgType<RetriedFrom | null>,
    },
    sql`with stamp as materialized (select clock_timestamp() as now),${held},${redriven}${audit}
  select exists (select from redriven) as "isRetried",
    (select from_state::text from held) as state,
    exists (select from ${schema}.jobs_archive where id = ${id}) as "isArchived",
    (
      select case when e.detail ->> 'reason' = 'redriven' then e.detail ->> 'from_state' end
      from ${schema}.job_events e where e.job_id = ${id} order by e.id desc limit 1
    ) as "lastRetriedFrom"`,
  )

/** Redrives one job: one row that says whether it did, or how the job stands. */
export const retryJob = retryWith('retry-job', sql``)

/** The same by an operator: the audit has a row for it, and only for what was done. */
export const retryJobAudited = retryWith(
  'retry-job-audited',
  sql`,
  audited as (
    insert into ${schema}.operator_audit (principal, action, target, reason, detail)
    select ${arg('principal', text)}, 'retry_job', r.id::text, ${arg('reason', text.orNull)},
      jsonb_build_object('from_state', r.from_state)
    from redriven r
  )`,
)

type Row = NonNullable<(typeof retryJob)['_row']>

export interface RetryReading {
  /** Whether the same was sent before and its reply lost: what was done then is the answer. */
  readonly isRepeated?: boolean
  /** What the id was given as. */
  readonly field?: string
}

/** What the row means for the caller: the redrive, or a refusal that is thrown. */
export function readRetry(row: Row | undefined, id: string, reading: RetryReading = {}): Retried {
  const { isRepeated = false, field = 'id' } = reading
  const { state = null, isRetried = false, isArchived = false, lastRetriedFrom = null } = row ?? {}
  if (isRetried) return { id, from: state as RetriedFrom }
  if (isRepeated && lastRetriedFrom !== null) return { id, from: lastRetriedFrom }
  if (state === 'succeeded') {
    throw new InvalidInputError('JOB_SUCCEEDED', field, `job ${id} has succeeded: there is nothing to retry`)
  }
  if (state !== null) {
    throw new InvalidInputError('JOB_NOT_ENDED', field, `job ${id} is ${state}, and not over`)
  }
  if (isArchived) throw new JobArchivedError(id, field)
  throw new InvalidInputError('JOB_UNKNOWN', field, `there is no job ${id}`)
}
