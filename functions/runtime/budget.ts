import { setTimeout as wait } from 'node:timers/promises'

/** What Lambda hands to a handler beside the event: the part that is used here. */
export interface LambdaContext {
  readonly awsRequestId: string
  getRemainingTimeInMillis(): number
}

/** A clock that only measures: what is due, the database says. */
export const nowMs = (): number => performance.now()

/** Waits, or returns at once when told to stop. */
export async function sleepUntilStopped(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return
  await wait(ms, undefined, { signal }).catch(() => undefined)
}

/**
 * Runs one invocation with a signal that SIGTERM aborts, so that a run ends after its batch instead of in it.
 * Between invocations the process dies of SIGTERM as any other does. Lambda sends it only where an extension
 * is registered; nothing depends on it, because every batch is committed by itself.
 */
export async function untilTerminated<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const abort = () => stop.abort()
  process.once('SIGTERM', abort)
  try {
    return await work(stop.signal)
  } finally {
    process.removeListener('SIGTERM', abort)
  }
}
