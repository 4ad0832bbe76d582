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
 * Seconds after which a job is retried whose n-th charged attempt has failed. `position`, from 0 to 1, is
 * the job's own place in the jitter's band; 0 and 1 are the band's ends. The statements compute the same
 * in SQL (shared/sql/retry-curve.ts), and a test holds the two together.
 *
 * @example
 * retryDelaySeconds(defaultRetry, 3, 86_400, 0.5) // 8: 2 s doubled twice, in the middle of 6.4 to 9.6
 */
export function retryDelaySeconds(
  policy: RetryPolicy,
  n: number,
  maxBackoffSeconds: number,
  position: number,
): number {
  const attempt = Math.max(n, 1)
  const cap = Math.min(policy.capSeconds, maxBackoffSeconds)
  const grown =
    policy.backoff === 'exponential'
      ? policy.baseSeconds * 2 ** Math.min(attempt - 1, exponentMax)
      : policy.backoff === 'linear'
        ? policy.baseSeconds * attempt
        : policy.baseSeconds
  const raw = Math.min(grown, cap)
  const low = raw * (1 - policy.jitter)
  const high = Math.min(raw * (1 + policy.jitter), cap)
  return Math.max(floorSeconds, low + position * (high - low))
}
