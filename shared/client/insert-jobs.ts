import { IdempotencyConflictError, TaskQError, WrongTargetError } from '../core/errors.ts'
import type { Settings } from '../core/read-settings.ts'
import type { RetryPolicy } from '../core/retry-curve.ts'
import { pinArgs, pinnedInstallation } from '../sql/attest.ts'
import { arg, schema, sql, statement } from '../sql/statement.ts'
import { int4, jsonb, nullableTextArray, text, uuid, uuidArray } from '../sql/types.ts'

/** The one statement that stores jobs; migrations/0003_enqueue.sql says what it does and answers. */
export const insertJobs = statement(
  'insert-jobs',
  { ordinal: int4, id: uuid.orNull, outcome: text },
  // The actor's name comes out of the attested row, so that the function cannot be called without one.
  // Payloads travel as text: each was written as JSON once, to be measured.
  sql`with attested as materialized (select ${arg('actor', text)} as actor from ${pinnedInstallation})
  select ordinal, id, outcome from attested, lateral ${schema}.insert_jobs(
    attested.actor, ${arg('definition', jsonb.orNull)}, ${arg('ids', uuidArray)},
    ${arg('payloads', text)}::jsonb, ${arg('keys', nullableTextArray)}, ${arg('options', jsonb)},
    ${arg('lockTimeoutMs', int4)})
  order by ordinal`,
)

/** Jobs on their way into the database: ids, payloads and keys by place. */
export interface JobsToStore {
  readonly actor: string
  readonly definition: StoredDefinition | null
  readonly ids: readonly string[]
  readonly payloads: readonly string[]
  /** Empty where no job has one. */
  readonly keys: readonly (string | null)[]
  readonly options: Readonly<Record<string, unknown>>
}

/** A definition as insert_jobs reads it. */
export type StoredDefinition = Readonly<Record<string, string | number>>

export function storedDefinition(queue: string, retry: Readonly<RetryPolicy>): StoredDefinition {
  return {
    queue,
    maxAttempts: retry.maxAttempts,
    retryKind: retry.kind,
    retryBackoff: retry.backoff,
    retryBaseMs: Math.round(retry.baseSeconds * 1000),
    retryCapMs: Math.round(retry.capSeconds * 1000),
    retryJitter: retry.jitter,
  }
}

export function insertArgs(jobs: JobsToStore, settings: Settings) {
  const payloads = `[${jobs.payloads.join(',')}]`
  return { ...jobs, payloads, lockTimeoutMs: settings.batchLockTimeoutMs, ...pinArgs(settings) }
}

export interface Enqueued {
  readonly id: string
  /** Whether the job is new; false: a job had its idempotency key already, and `id` is that one. */
  readonly created: boolean
}

type Row = { ordinal: number; id: string | null; outcome: string }

/**
 * What the answer means for the caller: the jobs, a refusal that is thrown, or undefined where the job that
 * held a key was deleted meanwhile and the same call is to be made again.
 */
export function readAnswer(
  rows: readonly Row[],
  jobs: JobsToStore,
  { schemaName }: Settings,
): Enqueued[] | undefined {
  if (rows.length === 0) throw new WrongTargetError(schemaName)
  if (rows[0]?.outcome === 'unknown_actor') {
    throw new TaskQError(
      'ACTOR_UNKNOWN',
      `actor "${jobs.actor}" is unknown here: enqueue it once by its definition`,
      { field: 'actor' },
    )
  }
  const conflict = rows.find(row => row.outcome === 'conflict')
  if (conflict !== undefined) {
    const key = jobs.keys[Number(conflict.ordinal) - 1] ?? ''
    throw new IdempotencyConflictError(key, conflict.id ?? '')
  }
  if (rows.some(row => row.outcome === 'vanished' || row.id === null)) return undefined
  return rows.map(row => ({ id: row.id as string, created: row.outcome === 'created' }))
}
