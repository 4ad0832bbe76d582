import { arg, schema, sql, statement } from '../../../shared/sql/statement.ts'
import { bool, float8, int4, int8, text, timestamptz, uuid } from '../../../shared/sql/types.ts'

/** A count goes no further: beyond it the answer is "many", and the reading would cost what a sweep costs. */
export const countMax = 10_000

const bound = arg('max', int4)

/** Every function's state, its ages taken by the database's clock. */
export const readFunctions = statement(
  'status-functions',
  {
    function: text,
    last_started_at: timestamptz.orNull,
    last_success_at: timestamptz.orNull,
    last_outcome: text.orNull,
    success_age_seconds: float8.orNull,
    rows_total: int8,
    last_rows: int8,
    latched: bool,
    disabled: bool,
    quarantined: int8,
    last_error: text.orNull,
  },
  sql`select s.function, s.last_started_at, s.last_success_at, s.last_outcome,
    extract(epoch from statement_timestamp() - s.last_success_at)::float8 as success_age_seconds,
    s.rows_total, s.last_rows,
    s.latched_at is not null as latched,
    s.disabled_at is not null as disabled,
    (select count(*) from ${schema}.sweep_quarantine q where q.function = s.function) as quarantined,
    s.last_error
  from ${schema}.sweep_state s
  order by s.function`,
)

/**
 * Open jobs by queue, counted up to a bound. A queue is known by its row or by its jobs: the two recursions
 * hop over an index from one queue's name to the next, however many jobs each holds. Ended jobs are not
 * counted, since no index serves that.
 */
export const readQueues = statement(
  'status-queues',
  { queue: text, paused: bool, pending: int8, scheduled: int8, running: int8 },
  sql`with recursive ready as (
    (select j.queue from ${schema}.jobs j where j.status = 'pending' order by j.queue limit 1)
    union all
    select (select j.queue from ${schema}.jobs j
      where j.status = 'pending' and j.queue > ready.queue order by j.queue limit 1)
    from ready where ready.queue is not null
  ), later as (
    (select j.queue from ${schema}.jobs j where j.status = 'scheduled' order by j.queue limit 1)
    union all
    select (select j.queue from ${schema}.jobs j
      where j.status = 'scheduled' and j.queue > later.queue order by j.queue limit 1)
    from later where later.queue is not null
  ), running as (
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
  select names.queue, coalesce(q.paused_at is not null, false) as paused,
    (select count(*) from (
      select 1 from ${schema}.jobs j where j.status = 'pending' and j.queue = names.queue
      order by j.queue, j.actor limit ${bound}) as counted) as pending,
    (select count(*) from (
      select 1 from ${schema}.jobs j where j.status = 'scheduled' and j.queue = names.queue
      order by j.queue, j.scheduled_at, j.id limit ${bound}) as counted) as scheduled,
    coalesce(running.jobs, 0) as running
  from names
  left join running on running.queue = names.queue
  left join ${schema}.queues q on q.name = names.queue
  order by names.queue`,
)

/** The workers that were seen last. */
export const readWorkers = statement(
  'status-workers',
  { id: uuid, name: text, hostname: text, kind: text, seen_age_seconds: float8 },
  sql`select w.id, w.name, w.hostname, w.kind,
    extract(epoch from statement_timestamp() - w.last_seen_at)::float8 as seen_age_seconds
  from ${schema}.workers w
  order by w.last_seen_at desc, w.id
  limit ${bound}`,
)
