import { arg, schema, sql, statement } from '../sql/statement.ts'
import { float8, int4, int8, jsonb, text, textArray, timestamptz, uuid } from '../sql/types.ts'

/** More jobs than this are never claimed at once; it is the literal bound of each lane's probe below. */
export const claimRowsMax = 1000

/** What may be claimed: ready, and not too late to be started. */
const isReady = sql`j.status = 'pending'
        and (j.schedule_to_close is null or j.schedule_to_close > statement_timestamp())`

/**
 * The lanes, a queue with an actor of ours, that have work and that nobody paused, each with its share of
 * the batch and its turn among equals. Whether it has work is a probe of its own: an `exists` would become a
 * join that scans everything ready.
 */
const lanes = sql`
  lanes as materialized (
    select q.queue, a.actor,
      ceil(${arg('batch', int4)} / count(*) over ()::float8)::int as share,
      (row_number() over (order by q.queue, a.actor) + ${arg('rotation', int4)}) % count(*) over () as turn
    from unnest(${arg('queues', textArray)}) as q (queue)
    cross join unnest(${arg('actors', textArray)}) as a (actor)
    cross join lateral (
      select from ${schema}.jobs j
      where j.queue = q.queue and j.actor = a.actor and ${isReady}
      order by j.priority desc, j.scheduled_at, j.id
      limit 1
    ) as first
    where q.queue not in (select name from ${schema}.queues where paused_at is not null)
      and a.actor not in (select actor from ${schema}.actors where paused)
  )`

/**
 * Rows are locked where they are found: choosing ids first and locking them after left 97 % of 16 claimers'
 * rounds empty. The inner bound is a literal, since a plan for an unknown share would expect a tenth of the
 * lane and sort it all; the outer bound stops the walk, and with it the locking, at the share. Between them
 * the order is the inner query's: to sort again would lock all of its rows first.
 */
const probed = sql`
  probed as materialized (
    select head.id, lanes.turn,
      row_number() over (partition by lanes.queue, lanes.actor
        order by head.priority desc, head.scheduled_at, head.id) as rank
    from lanes
    cross join lateral (
      select ready.id, ready.priority, ready.scheduled_at
      from (
        select j.id, j.priority, j.scheduled_at
        from ${schema}.jobs j
        where j.queue = lanes.queue and j.actor = lanes.actor and ${isReady}
        order by j.priority desc, j.scheduled_at, j.id
        limit 1000
        for update skip locked
      ) as ready
      fetch first (lanes.share) rows only
    ) as head
  )`

/** The shares may add up to more than the batch: first every lane's first, the lanes taking turns. */
const picked = sql`
  picked as materialized (
    select id, row_number() over (order by rank, turn) - 1 as place
    from probed
    order by rank, turn
    limit ${arg('batch', int4)}
  )`

const claimed = sql`
  claimed as (
    update ${schema}.jobs j
    set
      status = 'running',
      attempt = j.attempt + 1,
      claim_epoch = j.claim_epoch + 1,
      locked_by = ${arg('workerId', uuid)},
      started_at = at,
      last_heartbeat_at = at,
      -- No lease outlives the time that the attempt is given.
      lock_expires_at =
        least(at + make_interval(secs => ${arg('leaseMs', float8)} / 1000), at + j.start_to_close),
      heartbeat_expires_at = at + j.heartbeat_timeout,
      unclaimed_since = null
    from picked, stamp, lateral (select stamp.now + picked.place * interval '1 microsecond' as at) as ladder
    where j.id = picked.id and j.id = any (array(select id from picked))
    returning j.*, picked.place
  )`

const columns = {
  waiting: int4,
  paused: int4,
  id: uuid.orNull,
  queue: text.orNull,
  actor: text.orNull,
  payload: jsonb.orNull,
  priority: int4.orNull,
  attempt: int4.orNull,
  maxAttempts: int4.orNull,
  epoch: int8.orNull,
  scheduledAt: timestamptz.orNull,
  occurrenceDueAt: timestamptz.orNull,
  startedAt: timestamptz.orNull,
  startToCloseMs: float8.orNull,
  heartbeatTimeoutMs: float8.orNull,
  tags: textArray.orNull,
  metadata: jsonb.orNull,
  traceparent: text.orNull,
  place: int8.orNull,
} as const

/**
 * Claims ready jobs, fairly among the lanes and within a lane by priority, due time and id. One row a job;
 * without any, one row that says how many lanes have work all the same and how many are paused.
 */
export const claim = statement(
  'claim',
  columns,
  sql`with stamp as materialized (select clock_timestamp() as now),${lanes},${probed},${picked},${claimed}
  select
    (select count(*)::int from lanes) as waiting,
    (
      (select count(*) from ${schema}.queues
        where paused_at is not null and name = any (${arg('queues', textArray)}))
      + (select count(*) from ${schema}.actors where paused and actor = any (${arg('actors', textArray)}))
    )::int as paused,
    c.id, c.queue, c.actor, c.payload, c.priority, c.attempt, c.max_attempts as "maxAttempts",
    c.claim_epoch as epoch, c.scheduled_at as "scheduledAt", c.occurrence_due_at as "occurrenceDueAt",
    c.started_at as "startedAt",
    (extract(epoch from c.start_to_close) * 1000)::float8 as "startToCloseMs",
    (extract(epoch from c.heartbeat_timeout) * 1000)::float8 as "heartbeatTimeoutMs",
    c.tags, c.metadata, c.traceparent, c.place
  from (select) as always left join claimed c on true`,
)

/** A job that this worker holds. */
export interface ClaimedJob {
  readonly id: string
  readonly queue: string
  readonly actor: string
  readonly payload: unknown
  readonly priority: number
  readonly attempt: number
  readonly maxAttempts: number
  /** The fence: whatever is written later must match it. */
  readonly epoch: number
  readonly scheduledAt: Date
  readonly occurrenceDueAt: Date | null
  readonly startedAt: Date
  readonly startToCloseMs: number | null
  readonly heartbeatTimeoutMs: number | null
  readonly tags: readonly string[]
  readonly metadata: Readonly<Record<string, unknown>>
  readonly traceparent: string | null
}

/**
 * What a claim found. Without jobs: `contended` where peers hold what waits, `paused` where nothing else
 * waits and a lane is paused, else `empty`.
 */
export interface ClaimAnswer {
  readonly jobs: readonly ClaimedJob[]
  readonly found: 'jobs' | 'contended' | 'paused' | 'empty'
}

type Row = NonNullable<(typeof claim)['_row']>

/** Reads the rows of a claim; their order is the plan's until they are sorted here. */
export function readClaim(rows: readonly Row[]): ClaimAnswer {
  const jobs = rows
    .filter(row => row.id !== null)
    .sort((a, b) => (a.place ?? 0) - (b.place ?? 0))
    .map(({ waiting, paused, place, ...job }) => job as ClaimedJob)
  const { waiting = 0, paused = 0 } = rows[0] ?? {}
  const found = jobs.length > 0 ? 'jobs' : waiting > 0 ? 'contended' : paused > 0 ? 'paused' : 'empty'
  return { jobs, found }
}
