import { TaskQError, WrongTargetError } from '../core/errors.ts'
import type { Settings } from '../core/read-settings.ts'
import type { Connection, Runner } from '../sql/connection.ts'
import { classify } from '../sql/failures.ts'
import { arg, schema, sql, statement } from '../sql/statement.ts'
import { jsonb, text } from '../sql/types.ts'
import type { Actor } from './define-actor.ts'
import { callersError } from './failures.ts'
import { storedDefinition } from './insert-jobs.ts'

/** What a sync did; the actors by name. */
export interface SyncReport {
  readonly schema: string
  readonly created: readonly string[]
  readonly changed: readonly string[]
  /** How many stood as they are defined already. */
  readonly unchanged: number
}

const statementTimeoutMs = 10_000
const transactionTimeoutMs = 15_000

/**
 * Stores actors as they are defined now, and the queues that they name. A row that is as it should be is not
 * even locked, one that is no longer defined stays, and what an operator sets (a pause, a limit) is not
 * touched. Rows are written in the order of their names, so that two syncs wait for each other in one order.
 */
export const storeActors = statement(
  'sync-actors',
  { actor: text, outcome: text },
  sql`with given as materialized (
    select g.name as actor, g.queue, g."maxAttempts" as max_attempts,
      g."retryKind" as retry_kind, g."retryBackoff" as retry_backoff,
      make_interval(secs => g."retryBaseMs" / 1000) as retry_base,
      make_interval(secs => g."retryCapMs" / 1000) as retry_cap,
      g."retryJitter" as retry_jitter
    from jsonb_to_recordset(${arg('actors', jsonb)}) as g (
      name text, queue text, "maxAttempts" int, "retryKind" text, "retryBackoff" text,
      "retryBaseMs" float8, "retryCapMs" float8, "retryJitter" float8)
  ), compared as materialized (
    select g.*, case
        when a.actor is null then 'created'
        when (a.queue, a.max_attempts, a.retry_kind, a.retry_backoff,
            a.retry_base, a.retry_cap, a.retry_jitter)
          is distinct from (g.queue, g.max_attempts, g.retry_kind, g.retry_backoff,
            g.retry_base, g.retry_cap, g.retry_jitter)
          then 'changed'
        else 'unchanged'
      end as outcome
    from given g
    left join ${schema}.actors a on a.actor = g.actor
  ), queues as (
    insert into ${schema}.queues (name)
    select distinct g.queue from given g order by g.queue
    on conflict do nothing
  ), stored as (
    insert into ${schema}.actors (
      actor, queue, max_attempts, retry_kind, retry_backoff, retry_base, retry_cap, retry_jitter)
    select c.actor, c.queue, c.max_attempts, c.retry_kind, c.retry_backoff, c.retry_base, c.retry_cap,
      c.retry_jitter
    from compared c
    where c.outcome <> 'unchanged'
    order by c.actor
    -- Somebody who enqueued by an older definition may have been first, a moment ago.
    on conflict (actor) do update set
      queue = excluded.queue,
      max_attempts = excluded.max_attempts,
      retry_kind = excluded.retry_kind,
      retry_backoff = excluded.retry_backoff,
      retry_base = excluded.retry_base,
      retry_cap = excluded.retry_cap,
      retry_jitter = excluded.retry_jitter
  )
  select c.actor, c.outcome from compared c order by c.actor`,
)

/**
 * Somebody's open transaction may hold a new actor's name. Each try waits for it as long as a batch may, with
 * nothing held in between: whoever enqueues meanwhile waits no longer than for a batch either.
 */
const triesMax = 20

/**
 * Brings the stored actors to their definitions, in one transaction and one statement, against the
 * installation that the settings pin. Errors, with nothing written: `WRONG_TARGET`, `NOT_MIGRATED`, and
 * `LOCK_TIMEOUT` where another transaction keeps an actor locked.
 *
 * @example
 * await syncActors(connection, actorsIn(definitions), settings)
 * // { schema: 'taskq', created: ['send-receipt'], changed: [], unchanged: 4 }
 */
export async function syncActors(
  connection: Connection,
  actors: readonly Actor[],
  settings: Settings,
): Promise<SyncReport> {
  const [report] = await syncWith(connection, actors, settings, async () => undefined)
  return report
}

/** The same, with more of one module stored in the same transaction: all of it, or nothing. */
export async function syncWith<T>(
  connection: Connection,
  actors: readonly Actor[],
  settings: Settings,
  storeMore: (transaction: Runner) => Promise<T>,
): Promise<[SyncReport, T]> {
  for (let tries = 1; ; tries++) {
    try {
      return await syncOnce(connection, actors, settings, storeMore)
    } catch (error) {
      await connection.rollback()
      if (classify(error) !== 'transient') throw callersError(error)
      const reason =
        'another open transaction holds one of the actors, queues or schedules: end it, or sync again'
      if (tries === triesMax) throw new TaskQError('LOCK_TIMEOUT', reason, { cause: error })
    }
  }
}

async function syncOnce<T>(
  connection: Connection,
  actors: readonly Actor[],
  { schemaName: schema, installationId, environment, ...settings }: Settings,
  storeMore: (transaction: Runner) => Promise<T>,
): Promise<[SyncReport, T]> {
  const opened = await connection.openBatch({
    lock: null,
    statementTimeoutMs,
    lockTimeoutMs: settings.batchLockTimeoutMs,
    idleTimeoutMs: settings.idleInTransactionTimeoutMs,
    transactionTimeoutMs,
    target: { installationId, environment },
  })
  if (opened === 'wrong_target') throw new WrongTargetError(schema)
  const definitions = actors.map(({ name, queue, retry }) => ({ name, ...storedDefinition(queue, retry) }))
  const rows = await connection.run(storeActors, { actors: definitions })
  const more = await storeMore(connection)
  await connection.commit()
  const named = (outcome: string) => rows.filter(row => row.outcome === outcome).map(row => row.actor)
  const [created, changed] = [named('created'), named('changed')]
  const unchanged = rows.length - created.length - changed.length
  return [{ schema, created, changed, unchanged }, more]
}
