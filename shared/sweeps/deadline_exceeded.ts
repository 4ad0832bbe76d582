import { schema, sql } from '../sql/statement.ts'
import { defineSweep, limit } from '../sweeper/define.ts'
import { batchOf, jobWindow, stamped } from '../sweeper/window.ts'

/** The index's predicate, verbatim, and the bound on its key. */
const isOverdue = sql`status in ('pending', 'scheduled') and schedule_to_close is not null
      and schedule_to_close <= statement_timestamp()`
const window = jobWindow('deadline_exceeded', isOverdue, sql`schedule_to_close`)

const message = sql`'the job was not started before ' || v.key::text`

const failed = sql`
  with due as materialized (
    select id, ctid as place, schedule_to_close as key, status as from_state
    from ${schema}.jobs
    where ${window.mayTake}
    order by schedule_to_close, id
    limit ${limit}
    for update skip locked
  ),
  ${stamped},
  failed as (
    update ${schema}.jobs j
    set status = 'failed', finished_at = v.at, error_class = 'DeadlineExceeded', error_message = ${message},
      error_stack = null
    from stamped v
    where j.ctid = v.place and j.ctid = any (array(select place from stamped))
    returning v.*, j.error_message as message, j.actor, j.attempt, j.claim_epoch, j.scheduled_at,
      'failed' as disposition
  )`

/** A job that waits for a retry has recorded its last attempt already: that record stays. */
const recorded = sql`
  recorded as (
    insert into ${schema}.job_attempts (
      job_id, attempt, claim_epoch, due_at, finished_at, outcome, error_class, error_message)
    select id, attempt, claim_epoch, scheduled_at, at, 'failed', 'DeadlineExceeded', message
    from failed
    on conflict do nothing
  )`

const told = sql`
  told as (
    insert into ${schema}.job_events (job_id, occurred_at, kind, detail)
    select id, at, 'state_change', jsonb_build_object(
      'from_state', from_state, 'to_state', 'failed', 'reason', 'deadline_exceeded',
      'attempt', attempt, 'actor', actor)
    from failed
    order by at
  )`

export const deadlineExceeded = defineSweep({
  purpose: 'deadline_exceeded',
  title: 'Fails jobs that were not started in time',
  why: `A caller may say how long a job is worth starting. A job that is still waiting then, for its first
run or for a retry, is \`failed\` with \`DeadlineExceeded\`, so that its caller learns of it; the claim never
takes it any more. A running job is not touched: it was started in time, and how long it may run is another
deadline's.`,
  cadenceMinutes: 1,
  pulse: null,
  batchSize: 'eventWriterBatchSize',
  statementTimeout: 'eventWriterStatementTimeoutMs',
  offAtZero: null,
  drains: true,
  breaker: true,
  flushes: true,
  moves: [
    ['pending', 'failed'],
    ['scheduled', 'failed'],
  ],
  args: () => ({}),
  arms: [
    {
      table: 'jobs',
      index: 'jobs_deadline_exceeded',
      batch: batchOf('deadline_exceeded', sql`${failed},${recorded},${told}`, sql`failed`),
      eligible: window.eligible,
    },
  ],
  head: window.head,
})
