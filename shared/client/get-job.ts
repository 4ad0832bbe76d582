import { InvalidInputError } from '../core/errors.ts'
import type { JobStatus } from '../core/states.ts'
import { arg, schema, sql, statement } from '../sql/statement.ts'
import { int4, jsonb, text, textArray, timestamptz, uuid } from '../sql/types.ts'

/** One job as it stands. Instants are the database's. */
export interface Job {
  readonly id: string
  readonly queue: string
  readonly actor: string
  readonly status: JobStatus
  readonly priority: number
  readonly attempt: number
  readonly maxAttempts: number
  readonly payload: unknown
  /** What the handler returned; null before it has, and where it returned nothing. */
  readonly result: unknown
  readonly createdAt: Date
  readonly scheduledAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly errorClass: string | null
  readonly errorMessage: string | null
  readonly tags: readonly string[]
  readonly metadata: Readonly<Record<string, unknown>>
  readonly idempotencyKey: string | null
  readonly traceparent: string | null
}

const columns = {
  id: uuid,
  queue: text,
  actor: text,
  status: text,
  priority: int4,
  attempt: int4,
  maxAttempts: int4,
  payload: jsonb,
  result: jsonb.orNull,
  createdAt: timestamptz,
  scheduledAt: timestamptz,
  startedAt: timestamptz.orNull,
  finishedAt: timestamptz.orNull,
  errorClass: text.orNull,
  errorMessage: text.orNull,
  tags: textArray,
  metadata: jsonb,
  idempotencyKey: text.orNull,
  traceparent: text.orNull,
} as const

export const selectJob = statement(
  'select-job',
  columns,
  sql`select
    id, queue, actor, status::text, priority, attempt, max_attempts as "maxAttempts", payload, result,
    created_at as "createdAt", scheduled_at as "scheduledAt", started_at as "startedAt",
    finished_at as "finishedAt", error_class as "errorClass", error_message as "errorMessage", tags, metadata,
    idempotency_key as "idempotencyKey", traceparent
  from ${schema}.jobs
  where id = ${arg('id', uuid)}`,
)

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Refuses what is no job's id before the database would, inside the caller's transaction. */
export function checkJobId(id: unknown, field = 'id'): void {
  if (typeof id === 'string' && uuidPattern.test(id)) return
  throw new InvalidInputError('OPTION_INVALID', field, 'is no UUID')
}
