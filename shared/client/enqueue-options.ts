import type { Duration } from '../core/durations.ts'
import type { Queryable } from '../sql/connection.ts'

/** What every job of one call has. Null is no way to leave an option out; undefined is. */
export interface JobOptions {
  /** Another queue than the actor's. */
  readonly queue?: string
  /** Due this long after the database's now. */
  readonly delay?: Duration
  /** Due at this instant; one that has passed is due now. Not together with `delay`. */
  readonly runAt?: Date
  /** Higher first, among the jobs of one actor; 0 where absent. */
  readonly priority?: number
  /** Keys are unique within their scope; the empty scope where absent. Only together with a key. */
  readonly idempotencyScope?: string
  /** Not started later than this after the enqueue: then the job fails. */
  readonly scheduleToClose?: Duration
  /** One attempt may take this long: then its signal is aborted and the attempt fails. */
  readonly startToClose?: Duration
  /**
   * Without a heartbeat for this long, at least 1s, the job is taken back, though its lease may be longer.
   * Its worker beats for it in time by itself.
   */
  readonly heartbeatTimeout?: Duration
  readonly tags?: readonly string[]
  readonly metadata?: Readonly<Record<string, unknown>>
  /** The group among which a `round_robin` queue takes turns. */
  readonly fairnessKey?: string
  /** A W3C trace context, handed on to the handler. */
  readonly traceparent?: string
}

/** The options of one enqueue. */
export interface EnqueueOptions extends JobOptions {
  /**
   * Your own transaction, as a `pg` client, a Neon client or `{ query(text, values) }`: the job commits with
   * your data or not at all. A refusal of ours leaves it usable; only
   * `LOCK_TIMEOUT` is the server's own error, after which it can but be rolled back.
   */
  readonly tx?: Queryable
  /**
   * The first job with this key, whatever its actor and state, is the only one while its row exists. The
   * same key with another payload is an `IdempotencyConflictError`.
   */
  readonly idempotencyKey?: string
}

/** The options of many jobs in one call: the same for each but the key. */
export interface EnqueueManyOptions<Payload = unknown> extends JobOptions {
  /** Your own transaction: all jobs commit with your data or none does. */
  readonly tx?: Queryable
  /** Makes the key of one payload. */
  readonly idempotencyKey?: (payload: Payload) => string
}
