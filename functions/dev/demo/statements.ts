import { arg, schema, sql, statement } from '../../../shared/sql/statement.ts'
import { float8, int8, uuidArray } from '../../../shared/sql/types.ts'

const chosen = sql`id = any (${arg('ids', uuidArray)})`

/** How some jobs stand, by the database's clock. */
export const standOf = statement(
  'demo-stand',
  {
    jobs: int8,
    pending: int8,
    scheduled: int8,
    running: int8,
    expired: int8,
    succeeded: int8,
    transactions: int8,
    attempts_min: int8.orNull,
    attempts_max: int8.orNull,
  },
  sql`select count(*) as jobs,
    count(*) filter (where status = 'pending') as pending,
    count(*) filter (where status = 'scheduled') as scheduled,
    count(*) filter (where status = 'running') as running,
    count(*) filter (where status = 'running' and reclaim_at <= statement_timestamp()) as expired,
    count(*) filter (where status = 'succeeded') as succeeded,
    count(distinct xmin::text) as transactions,
    min(attempt)::int8 as attempts_min,
    max(attempt)::int8 as attempts_max
  from ${schema}.jobs
  where ${chosen}`,
)

/** How late some jobs started, in milliseconds; a negative minimum is an early start. */
export const delaysOf = statement(
  'demo-delays',
  { started: int8, early: int8, min: float8.orNull, median: float8.orNull, max: float8.orNull },
  sql`select count(*) as started, count(*) filter (where late < 0) as early,
    min(late) as min, percentile_cont(0.5) within group (order by late) as median, max(late) as max
  from (
    select extract(epoch from started_at - first_due_at)::float8 * 1000 as late
    from ${schema}.jobs
    where ${chosen} and started_at is not null
  ) as starts`,
)

/**
 * The conservation of everything: one terminal state a job, its attempts numbered from one without a gap,
 * one success, and one event for each attempt and no other, whose reason fits the attempt's outcome.
 */
export const conservation = statement(
  'demo-conservation',
  {
    jobs: int8,
    attempts: int8,
    events: int8,
    unknown: int8,
    unfinished: int8,
    still_held: int8,
    gaps: int8,
    not_succeeded_once: int8,
    attempts_without_event: int8,
    events_without_attempt: int8,
    wrong_reasons: int8,
  },
  sql`with per_job as (
    select j.id, j.status, j.attempt, j.locked_by,
      count(a.attempt) as attempts, min(a.attempt) as first, max(a.attempt) as last,
      count(*) filter (where a.outcome = 'succeeded') as successes
    from ${schema}.jobs j
    left join ${schema}.job_attempts a on a.job_id = j.id
    group by j.id
  ), told as (
    select e.job_id, (e.detail->>'attempt')::int as attempt, count(*) as events,
      min(e.detail->>'reason') as reason
    from ${schema}.job_events e
    where e.kind = 'state_change'
    group by e.job_id, (e.detail->>'attempt')::int
  ), matched as (
    select a.job_id as of_attempt, a.outcome, t.job_id as of_event, t.events, t.reason
    from ${schema}.job_attempts a
    full join told t on t.job_id = a.job_id and t.attempt = a.attempt
  )
  select
    (select count(*) from per_job) as jobs,
    (select count(*) from ${schema}.job_attempts) as attempts,
    (select count(*) from ${schema}.job_events) as events,
    (select count(*) from per_job where id <> all (${arg('ids', uuidArray)})) as unknown,
    (select count(*) from per_job where status <> 'succeeded') as unfinished,
    (select count(*) from per_job where locked_by is not null) as still_held,
    (select count(*) from per_job
      where attempts <> attempt or first <> 1 or last <> attempt or attempt < 1) as gaps,
    (select count(*) from per_job where successes <> 1) as not_succeeded_once,
    (select count(*) from matched where of_event is null or events <> 1) as attempts_without_event,
    (select count(*) from matched where of_attempt is null) as events_without_attempt,
    (select count(*) from matched where reason is distinct from case outcome
      when 'succeeded' then 'completed'
      when 'crashed' then 'lock_expired'
      else outcome end) as wrong_reasons`,
)
