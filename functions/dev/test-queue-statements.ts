import { arg, schema, sql, statement } from '../../shared/sql/statement.ts'
import { float8, int4, jsonb, text, uuid } from '../../shared/sql/types.ts'

/** One attempt that a drain made, and what became of it. */
export interface DrainedAttempt {
  readonly jobId: string
  readonly actor: string
  /** Which claim of the job it was, from 1 on. */
  readonly attempt: number
  readonly outcome: 'succeeded' | 'failed' | 'cancelled' | 'snoozed' | 'released'
  /** What the handler returned, as JSON; null where it did not succeed. */
  readonly result: unknown
  /** What the handler threw: its class, its message and its stack. */
  readonly errorClass: string | null
  readonly errorMessage: string | null
  readonly errorStack: string | null
}

export const drainedAttempts = statement(
  'testing-drained-attempts',
  {
    jobId: uuid,
    actor: text,
    attempt: int4,
    outcome: text,
    result: jsonb.orNull,
    errorClass: text.orNull,
    errorMessage: text.orNull,
    errorStack: text.orNull,
  },
  sql`select attempts.job_id as "jobId", jobs.actor, attempts.attempt, attempts.outcome,
    case when attempts.outcome = 'succeeded' then jobs.result end as result,
    attempts.error_class as "errorClass", attempts.error_message as "errorMessage",
    attempts.error_stack as "errorStack"
  from ${schema}.job_attempts as attempts
  join ${schema}.jobs as jobs on jobs.id = attempts.job_id
  where attempts.worker_id = ${arg('workerId', uuid)}
  order by attempts.finished_at, attempts.started_at, attempts.job_id`,
)

/** Every instant of a job but the one that is part of what it is: the occurrence that it was made for. */
export const advanceJobs = statement(
  'testing-advance-jobs',
  {},
  sql`update ${schema}.jobs set
    created_at = created_at - elapsed.time,
    scheduled_at = scheduled_at - elapsed.time,
    first_due_at = first_due_at - elapsed.time,
    unclaimed_since = unclaimed_since - elapsed.time,
    started_at = started_at - elapsed.time,
    finished_at = finished_at - elapsed.time,
    last_heartbeat_at = last_heartbeat_at - elapsed.time,
    heartbeat_expires_at = heartbeat_expires_at - elapsed.time,
    lock_expires_at = lock_expires_at - elapsed.time,
    schedule_to_close = schedule_to_close - elapsed.time,
    cancel_requested_at = cancel_requested_at - elapsed.time,
    unique_until = unique_until - elapsed.time,
    result_expires_at = result_expires_at - elapsed.time,
    prune_at = prune_at - elapsed.time
  from (select make_interval(secs => ${arg('seconds', float8)}) as time) as elapsed`,
)
