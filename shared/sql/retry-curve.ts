import { arg, type Fragment, sql } from './statement.ts'
import { float8 } from './types.ts'

/**
 * The retry curve over a row of `jobs` named `j`: one fragment, so that a reclaim and a failure compute
 * the same instant for the same job. It is computed in float8 seconds, clamped, and only then made an
 * interval, because interval arithmetic overflows at the 42nd attempt of a 2 s base. The place in the
 * jitter's band is drawn from md5 of the job and its attempt, not from random(), so that every path
 * agrees. shared/core/retry-curve.ts tells the curve in TypeScript.
 */
export const maxBackoffSeconds = arg('maxBackoffSeconds', float8)

/** Attempts that count against the budget: not the snoozed, not the released, none before a redrive. */
export const charged: Fragment<unknown> = sql`(j.attempt - j.uncharged)`

/** Whether job `j` may be tried again. */
export const hasBudget: Fragment<unknown> = sql`(
        j.retry_kind = 'indefinite'
        or (j.retry_kind = 'transient' and ${charged} < j.max_attempts))`

const cap = sql`least(extract(epoch from j.retry_cap)::float8, ${maxBackoffSeconds})`

const grown = sql`case j.retry_backoff
            when 'exponential'
              then extract(epoch from j.retry_base)::float8
                * power(2::float8, least(greatest(${charged}, 1) - 1, 67))
            when 'linear' then extract(epoch from j.retry_base)::float8 * greatest(${charged}, 1)
            else extract(epoch from j.retry_base)::float8
          end`

const raw = sql`least(${grown}, ${cap})`
const low = sql`${raw} * (1 - j.retry_jitter)`
const high = sql`least(${raw} * (1 + j.retry_jitter), ${cap})`
const position = sql`(('x' || substr(md5(j.id::text || ':' || j.attempt::text), 1, 8))::bit(32)::bigint
            / 4294967296::float8)`

/** How long job `j` waits before its next attempt, as an interval of at least a second. */
export const retryDelay = sql`make_interval(secs => greatest(1::float8,
            ${low} + ${position} * (${high} - ${low})))`
