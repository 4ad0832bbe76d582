import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type Duration, durationMs } from '../core/durations.ts'
import { InvalidInputError } from '../core/errors.ts'
import { checkName } from '../core/names.ts'
import { defaultRetry, type RetryPolicy } from '../core/retry-curve.ts'
import type { Handler, RunnableActor } from './handler.ts'

/** How a failed job is tried again; what is left out has the default. */
export interface RetryOptions {
  /** `transient` (default): up to `maxAttempts`; `indefinite`: for ever; `non_retryable`: never. */
  readonly kind?: RetryPolicy['kind']
  readonly backoff?: RetryPolicy['backoff']
  /** Before the first retry; 2s where absent. */
  readonly base?: Duration
  /** No retry waits longer; 1h where absent. */
  readonly cap?: Duration
  /** The part of the delay, 0 to 1, that is drawn by lot so that a wave does not return as one; 0.2. */
  readonly jitter?: number
  /** Attempts in all, the first included; 5. */
  readonly maxAttempts?: number
}

/** The definition of an actor: one kind of job, with its queue, payload and retries. */
export interface Actor<Payload extends StandardSchemaV1 = StandardSchemaV1> {
  readonly name: string
  readonly queue: string
  readonly payload: Payload
  readonly retry: Readonly<RetryPolicy>
  /** Gives the actor its handler, for a worker; the handler gets what the schema puts out. */
  run<Result>(handler: Handler<StandardSchemaV1.InferOutput<Payload>, Result>): RunnableActor
}

export interface ActorOptions<Payload extends StandardSchemaV1> {
  /** Stored with every job: renaming an actor strands what waits under the old name. */
  readonly name: string
  /** `default` where absent. */
  readonly queue?: string
  /** Any Standard Schema: zod, valibot, arktype. */
  readonly payload: Payload
  readonly retry?: RetryOptions
}

const optionNames = ['name', 'queue', 'payload', 'retry']
const retryNames = ['kind', 'backoff', 'base', 'cap', 'jitter', 'maxAttempts']
const kinds = ['transient', 'indefinite', 'non_retryable'] as const
const backoffs = ['exponential', 'linear', 'fixed'] as const
const maxAttemptsMax = 1_000_000
const delayMsMax = 365 * 86_400_000

/**
 * Defines one kind of job. The application enqueues by the definition, the worker runs it; both import it
 * from one place. The result is frozen. A wrong definition is refused with code `OPTION_INVALID` and `field`.
 *
 * @example
 * const sendReceipt = defineActor({
 *   name: 'send-receipt',
 *   queue: 'mail',
 *   payload: z.object({ orderId: z.uuid() }),
 *   retry: { base: '5s', cap: '10m', maxAttempts: 8 },
 * })
 */
export function defineActor<Payload extends StandardSchemaV1>(
  options: ActorOptions<Payload>,
): Actor<Payload> {
  refuseUnknown('', options, optionNames)
  const { name, queue = 'default', payload } = options
  checkText('name', name)
  checkText('queue', queue)
  if (typeof payload?.['~standard']?.validate !== 'function') {
    throw new InvalidInputError('OPTION_INVALID', 'payload', 'is no Standard Schema, such as zod makes')
  }
  const retry = Object.freeze(readRetry(options.retry))
  const run = (handler: Handler<never>): RunnableActor => {
    if (typeof handler !== 'function') {
      throw new InvalidInputError('OPTION_INVALID', 'handler', `of actor "${name}" is no function`)
    }
    return Object.freeze({ name, queue, payload, handler })
  }
  return Object.freeze({ name, queue, payload, retry, run }) as Actor<Payload>
}

function readRetry(given: RetryOptions | undefined): RetryPolicy {
  if (given === undefined) return { ...defaultRetry }
  refuseUnknown('retry', given, retryNames)
  const { kind = 'transient', backoff = 'exponential', jitter = 0.2, maxAttempts = 5 } = given
  oneOf('retry.kind', kind, kinds)
  oneOf('retry.backoff', backoff, backoffs)
  inRange('retry.jitter', jitter, 0, 1)
  inRange('retry.maxAttempts', maxAttempts, 1, maxAttemptsMax)
  if (!Number.isInteger(maxAttempts)) throw refused('retry.maxAttempts', 'is not a whole number')
  const baseSeconds = seconds('retry.base', given.base, defaultRetry.baseSeconds)
  const capSeconds = seconds('retry.cap', given.cap, defaultRetry.capSeconds)
  if (capSeconds < baseSeconds) throw refused('retry.cap', 'is shorter than retry.base')
  return { kind, backoff, baseSeconds, capSeconds, jitter, maxAttempts }
}

function seconds(field: string, given: Duration | undefined, fallback: number): number {
  if (given === undefined) return fallback
  const ms = durationMs(field, given)
  if (ms > delayMsMax) throw refused(field, 'is longer than 365d')
  return ms / 1000
}

function refuseUnknown(field: string, given: object, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null) throw refused(field || 'actor', 'is no object')
  const unknown = Object.keys(given).find(key => !known.includes(key))
  if (unknown === undefined) return
  const full = field === '' ? unknown : `${field}.${unknown}`
  throw refused(full, `is no option here; there are ${known.join(', ')}`)
}

function checkText(field: string, given: unknown): void {
  if (typeof given !== 'string') throw refused(field, 'is no text')
  checkName(field, given)
}

function oneOf(field: string, given: unknown, words: readonly string[]): void {
  if (!words.includes(given as string)) throw refused(field, `is none of ${words.join(', ')}`)
}

function inRange(field: string, given: unknown, min: number, max: number): void {
  const isInside = typeof given === 'number' && given >= min && given <= max
  if (!isInside) throw refused(field, `is not a number ${min}..${max}`)
}

function refused(field: string, reason: string): InvalidInputError {
  return new InvalidInputError('OPTION_INVALID', field, reason)
}
