/** How a job's retries are spaced: the columns that enqueue stamps on the row, in seconds. */
export interface RetryPolicy {
  kind: 'transient' | 'indefinite' | 'non_retryable'
  backoff: 'exponential' | 'linear' | 'fixed'
  baseSeconds: number
  capSeconds: number
  jitter: number
  maxAttempts: number
}

export const defaultRetry: RetryPolicy = {
  kind: 'transient',
  backoff: 'exponential',
  baseSeconds: 2,
  capSeconds: 3600,
  jitter: 0.2,
  maxAttempts: 5,
}

/** 2^67 times any base that an interval can hold is still a finite float8. */
const exponentMax = 67

/** No retry comes sooner, whatever the policy says: without a floor a zero base spins. */
const floorSeconds = 1

/**
 * Seconds between which the n-th charged attempt is retried, before the job's own position in the band
 * is drawn. The statements compute the same in SQL (shared/sql/retry-curve.ts); a test holds the two
 * together.
 *
 * @example
 * retryBand(defaultRetry, 1, 86_400) // { low: 1.6, high: 2.4 }
 */
export function retryBand(policy: RetryPolicy, n: number, maxBackoffSeconds: number) {
  const attempt = Math.max(n, 1)
  const cap = Math.min(policy.capSeconds, maxBackoffSeconds)
  const grown =
    policy.backoff === 'exponential'
      ? policy.baseSeconds * 2 ** Math.min(attempt - 1, exponentMax)
      : policy.backoff === 'linear'
        ? policy.baseSeconds * attempt
        : policy.baseSeconds
  const raw = Math.min(grown, cap)
  return {
    low: Math.max(floorSeconds, raw * (1 - policy.jitter)),
    high: Math.max(floorSeconds, Math.min(raw * (1 + policy.jitter), cap)),
  }
}

/** Whether a job that has used n charged attempts may be tried again. */
export function hasBudget(policy: RetryPolicy, n: number): boolean {
  if (policy.kind === 'indefinite') return true
  return policy.kind === 'transient' && n < policy.maxAttempts
}
