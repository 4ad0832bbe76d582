import { curve, hasBudget, retryDelay } from '../sql/retry-curve.ts'
import { arg, schema, sql, statement } from '../sql/statement.ts'
import {
  int4,
  int4Array,
  int8Array,
  nullableTextArray,
  text,
  textArray,
  uuid,
  uuidArray,
} from '../sql/types.ts'

/** How a worker ends its hold of a job; `fail_for_good` leaves no further attempt. */
export type Verb = 'complete' | 'fail' | 'fail_for_good' | 'release'

const given = sql`
  given as materialized (
    select g.*, nullif(r.result, 'null') as result
    from unnest(${arg('ids', uuidArray)}, ${arg('attempts', int4Array)}, ${arg('epochs', int8Array)},
        ${arg('verbs', textArray)}, ${arg('causes', nullableTextArray)}, ${arg('resultBytes', int4Array)},
        ${arg('errorClasses', nullableTextArray)}, ${arg('errorMessages', nullableTextArray)},
        ${arg('errorStacks', nullableTextArray)})
      with ordinality as g (
        id, attempt, epoch, verb, cause, result_bytes, error_class, error_message, error_stack, ordinal)
    left join jsonb_array_elements(${arg('results', text)}::jsonb)
      with ordinality as r (result, ordinal) using (ordinal)
    -- Locked in this order, as by every writer of several jobs that waits: in any other two could deadlock.
    order by g.id
  )`

/**
 * The jobs that are still this worker's, by id, worker, epoch and state; the rest is not touched. A complete
 * is a success even with a cancel in flight, for the work is done; every other end of such a job cancels it.
 * Each is looked up by its key: a join of two lists would be planned for one row and turn quadratic.
 */
const held = sql`
  held as materialized (
    select g.*, mine.*
    from given g
    cross join lateral (
      select
        j.actor, j.scheduled_at as due_at, j.started_at, j.locked_by,
        case
          when g.verb = 'complete' then 'succeeded'
          when j.cancel_requested_at is not null or j.superseded_by is not null then 'cancelled'
          when g.verb = 'release' then 'pending'
          when g.verb = 'fail' and ${hasBudget} then 'scheduled'
          else 'failed'
        end as to_state,${curve}
      from ${schema}.jobs j
      where j.id = g.id and j.claim_epoch = g.epoch and j.locked_by = ${arg('workerId', uuid)}
        -- As text, or an index over all running rows might look cheaper than the key.
        and j.status::text = 'running'
      for no key update
    ) as mine
  ),
  verdict as materialized (
    select h.*,
      case h.to_state
        when 'pending' then 'released' when 'scheduled' then 'failed' else h.to_state
      end as outcome,
      stamp.now + (row_number() over (order by h.ordinal) - 1) * interval '1 microsecond' as at
    from stamp, held h
  )`

const comesBack = sql`v.to_state in ('scheduled', 'pending')`

/** A job that comes back has neither end nor lease nor cancel; its first due time and attempts stay. */
const settled = sql`
  settled as (
    update ${schema}.jobs j
    set
      status = v.to_state::${schema}.job_status,
      scheduled_at = case v.to_state when 'scheduled' then v.at + ${retryDelay} else j.scheduled_at end,
      started_at = case when ${comesBack} then null else j.started_at end,
      finished_at = case when ${comesBack} then null else v.at end,
      uncharged = j.uncharged + (v.to_state = 'pending')::int,
      interrupt_count = j.interrupt_count + (v.to_state = 'pending')::int,
      result = v.result,
      result_size_bytes = nullif(v.result_bytes, 0),
      -- A release says nothing of the work: what the last failure left stays.
      error_class = case v.verb when 'release' then j.error_class else v.error_class end,
      error_message = case v.verb when 'release' then j.error_message else v.error_message end,
      error_stack = case v.verb when 'release' then j.error_stack else v.error_stack end,
      cancel_requested_at = case when ${comesBack} then null else j.cancel_requested_at end,
      cancel_reason = case when ${comesBack} then null else j.cancel_reason end,
      locked_by = null, lock_expires_at = null, heartbeat_expires_at = null
    from verdict v
    where j.id = v.id and j.id = any (array(select id from verdict))
  )`

/** One attempt a job; where its number was recorded already, that record was there first and stays. */
const recorded = sql`
  recorded as (
    insert into ${schema}.job_attempts (
      job_id, attempt, claim_epoch, worker_id, worker_name, due_at, started_at, finished_at,
      outcome, error_class, error_message, error_stack, duration_ms)
    select
      v.id, v.attempt, v.epoch, v.locked_by, ${arg('workerName', text)}, v.due_at, v.started_at, v.at,
      v.outcome, v.error_class, v.error_message, v.error_stack, extract(epoch from v.at - v.started_at) * 1000
    from verdict v
    on conflict do nothing
  )`

const told = sql`
  told as (
    insert into ${schema}.job_events (job_id, occurred_at, kind, detail)
    select v.id, v.at, 'state_change', jsonb_strip_nulls(jsonb_build_object(
      'from_state', 'running', 'to_state', v.to_state,
      'reason', case v.outcome when 'succeeded' then 'completed' else v.outcome end, 'cause', v.cause,
      'worker_id', v.locked_by, 'attempt', v.attempt, 'actor', v.actor))
    from verdict v
    order by v.at
  )`

/**
 * Settles many jobs in one statement, by place. The outcome is what the attempt's row says: `succeeded`,
 * `failed` (tried again or not), `released`, `cancelled`; or `lost` where the job is no longer this
 * worker's. A repeat of the same verb, whose reply was lost, is answered with what was stored then.
 */
export const settle = statement(
  'settle',
  { ordinal: int4, outcome: text },
  sql`with stamp as materialized (select clock_timestamp() as now),
    ${given},${held},${settled},${recorded},${told}
  select g.ordinal::int as ordinal, coalesce(v.outcome, (
      select a.outcome from ${schema}.job_attempts a
      where a.job_id = g.id and a.attempt = g.attempt and a.claim_epoch = g.epoch
        and a.worker_id = ${arg('workerId', uuid)}
        and a.outcome = any (case g.verb
          when 'complete' then array['succeeded']
          when 'release' then array['released', 'cancelled']
          else array['failed', 'cancelled'] end)
    ), 'lost') as outcome
  from given g left join verdict v on v.ordinal = g.ordinal`,
)

/** How one job is to be settled. Texts are storable: mended or refused before. */
export interface Settlement {
  readonly id: string
  readonly attempt: number
  readonly epoch: number
  readonly verb: Verb
  /** Why a job is released. */
  readonly cause: string | null
  /** The result as JSON text; only of a complete. */
  readonly result: string | null
  readonly error: { errorClass: string; message: string; stack: string | null } | null
}

/** The arguments of {@link settle}. */
export function settleArgs(
  settlements: readonly Settlement[],
  worker: { workerId: string; name: string },
  maxBackoffMs: number,
) {
  return {
    ids: settlements.map(each => each.id),
    attempts: settlements.map(each => each.attempt),
    epochs: settlements.map(each => each.epoch),
    verbs: settlements.map(each => each.verb),
    causes: settlements.map(each => each.cause),
    results: `[${settlements.map(each => each.result ?? 'null').join(',')}]`,
    resultBytes: settlements.map(each => (each.result === null ? 0 : Buffer.byteLength(each.result))),
    errorClasses: settlements.map(each => each.error?.errorClass ?? null),
    errorMessages: settlements.map(each => each.error?.message ?? null),
    errorStacks: settlements.map(each => each.error?.stack ?? null),
    workerId: worker.workerId,
    workerName: worker.name,
    maxBackoffSeconds: maxBackoffMs / 1000,
  }
}
