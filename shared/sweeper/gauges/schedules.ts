import { schema, sql } from '../../sql/statement.ts'
import { ageOf, bound, type Gauge, gaugeOf } from '../gauge.ts'

/** The predicate of `schedules_disabled`, verbatim. When it happened, its last decision of that kind says. */
const disabled = sql`with found as (
    select s.name as schedule, s.actor, s.consecutive_failures as failures, s.last_fire_error as error,
      ${ageOf(sql`last.decided_at`)} as "ageSeconds"
    from ${schema}.schedules s
    left join lateral (
      select d.decided_at from ${schema}.schedule_decisions d
      where d.schedule_id = s.id and d.action = 'disable'
      order by d.id desc
      limit 1
    ) as last on true
    where s.disabled_by = 'auto' and not s.enabled and s.retired_at is null
    order by s.id
    limit ${bound}
  )`

export const scheduleGauges: readonly Gauge[] = [
  {
    name: 'SchedulesDisabled',
    unit: 'Count',
    doc: 'schedules that fire no more, since as many fires in a row failed as switch one off; at most 10,000',
    statement: gaugeOf('gauge-schedules-disabled', disabled, {
      value: sql`count(*)`,
      worstFirst: sql`"ageSeconds" desc nulls last, schedule`,
    }),
  },
]
