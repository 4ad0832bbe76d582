import type { JobContext, RunnableActor } from '../client/handler.ts'
import { jsonText } from '../client/json-text.ts'
import { firstIssue } from '../client/payload.ts'
import { type StorableError, storableError, storableText } from '../core/text.ts'
import type { ClaimedJob } from './claim.ts'

/** How a handler ended. */
export type Outcome =
  | { readonly ended: 'returned'; readonly result: string }
  | { readonly ended: 'threw'; readonly error: StorableError; readonly isFinal: boolean }

/**
 * Runs one job: its payload is validated again, since it may be older than the schema, then its handler is
 * called and its result written as JSON. It never throws, whatever the handler throws or returns.
 */
export async function perform(
  actor: RunnableActor,
  job: ClaimedJob,
  signal: AbortSignal,
  resultBytesMax: number,
): Promise<Outcome> {
  try {
    const validated = await actor.payload['~standard'].validate(job.payload)
    if (validated.issues !== undefined) {
      const { path = '', message = '' } = firstIssue(validated, job.payload) ?? {}
      return failedForGood('PayloadInvalid', `payload${path}: ${message}`)
    }
    const result: unknown = await actor.handler(validated.value as never, contextOf(job, signal))
    return storedResult(result, resultBytesMax)
  } catch (thrown) {
    return { ended: 'threw', error: storableError(thrown), isFinal: saysFinal(thrown) }
  }
}

function contextOf(job: ClaimedJob, signal: AbortSignal): JobContext {
  const { id, queue, actor, attempt, maxAttempts, priority, scheduledAt, startedAt, tags, metadata } = job
  const traceparent = job.traceparent ?? undefined
  const occurrenceDueAt = job.occurrenceDueAt ?? undefined
  return Object.freeze({
    id,
    queue,
    actor,
    attempt,
    maxAttempts,
    priority,
    scheduledAt,
    occurrenceDueAt,
    startedAt,
    tags,
    metadata,
    traceparent,
    signal,
  })
}

/** The work is done and another attempt would do it again, so a result that cannot be stored is final. */
function storedResult(result: unknown, bytesMax: number): Outcome {
  if (result === undefined) return { ended: 'returned', result: 'null' }
  const json = jsonText(result)
  if (!json.ok) {
    return failedForGood('ResultInvalid', `result${storableText(json.path, 255)}: ${json.reason}`)
  }
  const bytes = Buffer.byteLength(json.text)
  if (bytes > bytesMax) {
    const limit = `more than the ${bytesMax} of TASKQ_RESULT_MAX_BYTES`
    return failedForGood('ResultTooLarge', `result: is ${bytes} bytes as JSON, ${limit}`)
  }
  return { ended: 'returned', result: json.text }
}

function failedForGood(errorClass: string, message: string): Outcome {
  return { ended: 'threw', error: { errorClass, message, stack: null }, isFinal: true }
}

function saysFinal(thrown: unknown): boolean {
  try {
    return (thrown as { retryable?: unknown } | null)?.retryable === false
  } catch {
    // A getter that throws says nothing.
    return false
  }
}
