import { type Fragment, schema, sql } from '../sql/statement.ts'
import { defineSweep, floor, limit } from '../sweeper/define.ts'
import { batchOfOneWay, eligibleOf } from '../sweeper/window.ts'

/** The index's predicate, verbatim, and the bound on its key: an open batch is looked at once a minute. */
const isUnseen = sql`status = 'active' and sealed_at is not null
      and checked_at <= statement_timestamp() - interval '60 seconds'`

/**
 * Whether a batch has no open member. The `offset` keeps one probe of the index a batch, where the planner
 * would make a hash of all open members of another `exists`.
 */
const isOver = (id: Fragment<unknown>) => sql`not exists (
          select from ${schema}.jobs m
          where m.batch_id = ${id} and m.status in ('pending', 'scheduled', 'running') offset 0
        )`

/** Locked, so that a batch is completed by one session alone, whoever else looks. */
const looked = sql`
  with due as materialized (
    select id, ctid as place, checked_at as key, finalizer, finalizer_job_id
    from ${schema}.batches
    where ${isUnseen} and ${floor(sql`checked_at`)}
    order by checked_at, id
    limit ${limit}
    for update skip locked
  ),
  looked as materialized (
    select *,
      case
        when is_over and finalizer is not null and finalizer_job_id is null then gen_random_uuid()
      end as job_id
    from (
      select due.*, ${isOver(sql`due.id`)} as is_over
      from due
    ) as judged
  )`

/**
 * Every batch of the window was looked at; only those that are over change otherwise. One that moved in the
 * instant before we had its lock is not seen by the update, and has no part in what follows either.
 */
const completed = sql`
  seen as (
    update ${schema}.batches b
    set
      checked_at = clock_timestamp(),
      status = case when v.is_over then 'complete' else b.status end,
      completed_at = case when v.is_over then clock_timestamp() end,
      finalizer_job_id = coalesce(b.finalizer_job_id, v.job_id)
    from looked v
    where b.ctid = v.place and b.ctid = any (array(select place from due))
    returning v.*
  ),
  completed as (
    select from seen where is_over
  )`

/** A finalizer's job is no member of its batch: it would keep open what it waits for. */
const columns = sql`id, actor, payload, priority, created_at, scheduled_at, first_due_at, unclaimed_since`
const finalizers = sql`
  finalizers as materialized (
    select job_id, finalizer ->> 'actor' as actor, finalizer ->> 'queue' as queue,
      coalesce(finalizer -> 'payload', jsonb_build_object('batchId', id)) as payload,
      coalesce((finalizer ->> 'priority')::int, 0) as priority,
      clock_timestamp() as at
    from seen
    where job_id is not null
  )`
const finalizer = sql`f.job_id, f.actor, f.payload, f.priority, f.at, f.at, f.at, f.at`

/**
 * A job's retry times are seconds, while an actor's row, which nobody has to write by our client, takes any
 * interval. One that no job can have would stop every batch behind this one.
 */
const inSeconds = (time: Fragment<unknown>) =>
  sql`make_interval(secs => least(greatest(extract(epoch from ${time}), 0), 1e9)::float8)`

/** By the retry policy of its actor's row; without one by the table's defaults, which stand there alone. */
const enqueued = sql`
  by_policy as (
    insert into ${schema}.jobs (${columns}, queue,
      max_attempts, retry_kind, retry_backoff, retry_base, retry_cap, retry_jitter)
    select ${finalizer}, coalesce(f.queue, a.queue),
      a.max_attempts, a.retry_kind, a.retry_backoff, ${inSeconds(sql`a.retry_base`)},
      ${inSeconds(sql`a.retry_cap`)}, a.retry_jitter
    from finalizers f
    join ${schema}.actors a on a.actor = f.actor
  ),
  by_default as (
    insert into ${schema}.jobs (${columns}, queue)
    select ${finalizer}, coalesce(f.queue, 'default')
    from finalizers f
    where not exists (select from ${schema}.actors a where a.actor = f.actor offset 0)
  )`

export const staleBatches = defineSweep({
  purpose: 'stale_batches',
  title: 'Completes batches whose members have all ended',
  why: `A sealed batch is complete when none of its members is open. Whoever ends the last member may die
before it says so, so once a minute each active batch is looked at: one without an open member, be it one that
never had any, is \`complete\`, and its finalizer is enqueued in the same statement, once. A batch that is
still open is only marked as looked at and goes to the end of the window, so that many of them hide none.`,
  cadenceMinutes: 1,
  pulse: null,
  batchSize: 'eventWriterBatchSize',
  statementTimeout: 'eventWriterStatementTimeoutMs',
  offAtZero: null,
  drains: true,
  breaker: false,
  flushes: true,
  moves: [],
  args: () => ({}),
  arms: [
    {
      table: 'batches',
      index: 'batches_stale',
      batch: batchOfOneWay(
        'stale_batches',
        sql`${looked},${completed},${finalizers},${enqueued}`,
        sql`completed`,
        'completed',
      ),
      eligible: eligibleOf(
        'stale_batches',
        sql`${schema}.batches b`,
        sql`${isUnseen} and ${isOver(sql`b.id`)}`,
      ),
    },
  ],
  head: null,
})
