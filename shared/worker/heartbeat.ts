import { arg, schema, sql, statement } from '../sql/statement.ts'
import { bool, float8, int8, int8Array, text, textArray, uuid, uuidArray } from '../sql/types.ts'

/** Who a worker is, as its row in `workers` says. */
export interface WorkerIdentity {
  readonly workerId: string
  readonly name: string
  readonly hostname: string
  readonly kind: 'lambda' | 'process'
  readonly queues: readonly string[]
}

/**
 * One beat of a worker: its presence, and the leases of all jobs that it holds. Answers with those that it
 * still holds; the others are lost. A job whose cancel was requested is told, and its lease not extended:
 * whoever cancelled has raised it to what the grace needs. An expired lease that nobody took is still its
 * holder's, and revived. No lease is extended beyond the time that its attempt is given.
 */
export const heartbeat = statement(
  'heartbeat',
  { id: uuid, epoch: int8, cancelRequested: bool, cancelReason: text.orNull },
  sql`with stamp as materialized (select clock_timestamp() as now),
  present as (
    insert into ${schema}.workers (id, name, hostname, kind, queues)
    values (${arg('workerId', uuid)}, ${arg('name', text)}, ${arg('hostname', text)}, ${arg('kind', text)},
      ${arg('queues', textArray)})
    on conflict (id) do update set last_seen_at = clock_timestamp()
  ),
  given as materialized (
    select g.id, g.epoch
    from unnest(${arg('ids', uuidArray)}, ${arg('epochs', int8Array)}) as g (id, epoch)
    -- Locked in this order, as by every writer of several jobs that waits: in any other two could deadlock.
    order by g.id
  ),
  held as materialized (
    select mine.id
    from given g
    cross join lateral (
      select j.id
      from ${schema}.jobs j
      where j.id = g.id and j.claim_epoch = g.epoch and j.locked_by = ${arg('workerId', uuid)}
        -- As text, or an index over all running rows might look cheaper than the key.
        and j.status::text = 'running'
      for no key update
    ) as mine
  )
  update ${schema}.jobs j
  set
    last_heartbeat_at = stamp.now,
    lock_expires_at = case when j.cancel_requested_at is null
      then least(
        stamp.now + make_interval(secs => ${arg('leaseMs', float8)} / 1000), j.started_at + j.start_to_close)
      else j.lock_expires_at end,
    heartbeat_expires_at = case when j.cancel_requested_at is null
      then stamp.now + j.heartbeat_timeout
      else j.heartbeat_expires_at end
  from stamp
  where j.id = any (array(select id from held))
  returning j.id, j.claim_epoch as epoch, j.cancel_requested_at is not null as "cancelRequested",
    j.cancel_reason as "cancelReason"`,
)
