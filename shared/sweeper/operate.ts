import { arg, schema, sql, statement } from '../sql/statement.ts'
import { bool, text } from '../sql/types.ts'

const purpose = arg('purpose', text)

/** Who does something by hand, and why. */
export interface Operator {
  readonly principal: string
  readonly reason: string | null
}

/**
 * Clears a function's breaker: its latch and its count. Nothing but this and the deployment of something new
 * does: time shows nothing, and neither does a run that went well at a quarter of the size.
 */
export const resetBreaker = statement(
  'reset-breaker',
  { wasLatched: bool },
  sql`with before as materialized (
    select latched_at from ${schema}.sweep_state where function = ${purpose} for update
  ), cleared as (
    update ${schema}.sweep_state
    set latched_at = null, consecutive_aborts = 0, first_abort_at = null
    where function = ${purpose}
  ), told as (
    insert into ${schema}.operator_audit (principal, action, target, reason, detail)
    select ${arg('principal', text)}, 'reset_breaker', ${purpose}, ${arg('reason', text.orNull)},
      jsonb_build_object('latched_at', latched_at)
    from before
  )
  select latched_at is not null as "wasLatched" from before`,
)
