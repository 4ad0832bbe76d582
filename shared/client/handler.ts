import type { StandardSchemaV1 } from '@standard-schema/spec'

/** What a handler is told about the job that it runs. Instants are the database's. */
export interface JobContext {
  readonly id: string
  readonly queue: string
  readonly actor: string
  /** Which claim of the job this is, from 1 on. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly priority: number
  /** When this attempt fell due. */
  readonly scheduledAt: Date
  /**
   * Of a schedule's job: the instant that it is for, however late it fires. `metadata` then has `schedule`,
   * its name, and `latenessMs`.
   */
  readonly occurrenceDueAt: Date | undefined
  readonly startedAt: Date
  readonly tags: readonly string[]
  readonly metadata: Readonly<Record<string, unknown>>
  /** The W3C trace context that was enqueued with the job. */
  readonly traceparent: string | undefined
  /**
   * Aborted when the job must stop: it was cancelled, it is too old (`startToClose`), its lease is lost, or
   * the worker stops. A handler that ignores it goes on, and may then run beside its own retry.
   */
  readonly signal: AbortSignal
}

/** Does the work of one job. What it returns is stored as the job's result, as JSON; undefined as null. */
export type Handler<Payload, Result = unknown> = (
  payload: Payload,
  context: JobContext,
) => Result | Promise<Result>

/** An actor with its handler: what a worker is made of. */
export interface RunnableActor {
  readonly name: string
  readonly queue: string
  readonly payload: StandardSchemaV1
  readonly handler: Handler<never>
}

/**
 * Thrown by a handler to say that no further attempt can help: the job fails at once, whatever its budget.
 * Any error that has `retryable: false` says the same.
 *
 * @example
 * if (response.status === 410) throw new NonRetryableError('the mailbox is gone')
 */
export class NonRetryableError extends Error {
  readonly retryable = false
  override readonly name = 'NonRetryableError'
}
