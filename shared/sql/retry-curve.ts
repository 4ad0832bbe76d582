import { arg, type Fragment, sql } from './statement.ts'
import { float8 } from './types.ts'

/**
 * The retry curve: one fragment in two parts, so that a reclaim and a failure compute the same instant for
 * the same job. {@link curve} draws what the curve needs from a row of `jobs` named `j`, once, and
 * {@link retryDelay} makes the delay of it in a later step: written in one, the growth stands in the text
 * three times, for every batch to parse and to plan.
 *
 * It is computed in float8 seconds, clamped, and only then made an interval, because interval arithmetic
 * overflows at the 42nd attempt of a 2 s base. The place in the jitter's band is drawn from md5 of the job
 * and its attempt, not from random(), so that every path agrees. shared/core/retry-curve.ts tells the curve
 * in TypeScript.
 */
export const maxBackoffSeconds = arg('maxBackoffSeconds', float8)

/** Attempts that count against the budget: not the snoozed, not the released, none before a redrive. */
export const charged: Fragment<unknown> = sql`(j.attempt - j.uncharged)`

/** Whether job `j` may be tried again. */
export const hasBudget: Fragment<unknown> = sql`(
        j.retry_kind = 'indefinite'
        or (j.retry_kind = 'transient' and ${charged} < j.max_attempts))`

/** What the curve is computed from, as columns of a step that reads job `j`. */
export const curve = sql`
      date_part('epoch', j.retry_base) * case j.retry_backoff
        when 'exponential' then power(2::float8, least(greatest(${charged}, 1) - 1, 67))
        when 'linear' then greatest(${charged}, 1)
        else 1
      end as curve_grown,
      least(date_part('epoch', j.retry_cap), ${maxBackoffSeconds}) as curve_cap,
      j.retry_jitter as curve_jitter,
      ('x' || substr(md5(j.id::text || ':' || j.attempt::text), 1, 8))::bit(32)::bigint
        / 4294967296::float8 as curve_position`

const raw = sql`least(curve_grown, curve_cap)`
const low = sql`${raw} * (1 - curve_jitter)`
const high = sql`least(${raw} * (1 + curve_jitter), curve_cap)`

/** How long a job waits before its next attempt, as an interval of at least a second, from {@link curve}. */
export const retryDelay: Fragment<unknown> = sql`make_interval(secs => greatest(1::float8,
        ${low} + curve_position * (${high} - ${low})))`
