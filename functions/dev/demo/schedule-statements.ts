import { arg, schema, sql, statement } from '../../../shared/sql/statement.ts'
import { float8, int4, int8, text, timestamptz } from '../../../shared/sql/types.ts'

const days = sql`make_interval(days => ${arg('days', int4)})`
const mine = sql`(select id from ${schema}.schedules where name = ${arg('name', text)})`

/** Lets days pass for a schedule and its jobs: all of it is so much older, and its next instant is due. */
export const letDaysPass = statement(
  'demo-days-pass',
  { nextFireAt: timestamptz },
  sql`with jobs as (
    update ${schema}.jobs
    set created_at = created_at - ${days}, scheduled_at = scheduled_at - ${days},
      first_due_at = first_due_at - ${days}, unclaimed_since = unclaimed_since - ${days},
      occurrence_due_at = occurrence_due_at - ${days}
    where schedule_id = ${mine}
  )
  update ${schema}.schedules
  set next_fire_at = next_fire_at - ${days}, revised_at = revised_at - ${days}
  where name = ${arg('name', text)}
  returning next_fire_at as "nextFireAt"`,
)

/** Its occurrences, moved likewise; by their key, of which none may meet another on the way: in two leaps. */
export const moveOccurrences = statement(
  'demo-occurrences-move',
  {},
  sql`update ${schema}.schedule_occurrences set due_at = due_at - ${days} where schedule_id = ${mine}`,
)

/** How a schedule's jobs stand, and what was decided about it. */
export const scheduleStand = statement(
  'demo-schedule-stand',
  {
    jobs: int8,
    open: int8,
    cancelled: int8,
    succeeded: int8,
    chained: int8,
    newestIsOpen: int8,
    waitedHours: float8.orNull,
    fired: int8,
    missed: int8,
  },
  sql`select count(*) as jobs,
    count(*) filter (where j.status in ('pending', 'scheduled', 'running')) as open,
    count(*) filter (where j.status = 'cancelled') as cancelled,
    count(*) filter (where j.status = 'succeeded') as succeeded,
    count(*) filter (where j.status = 'cancelled' and j.superseded_by = (
      select n.id from ${schema}.jobs n
      where n.schedule_id = j.schedule_id and n.occurrence_due_at > j.occurrence_due_at
      order by n.occurrence_due_at limit 1)) as chained,
    count(*) filter (where j.status = 'pending' and j.occurrence_due_at = (
      select max(n.occurrence_due_at) from ${schema}.jobs n where n.schedule_id = j.schedule_id)
    ) as "newestIsOpen",
    (extract(epoch from clock_timestamp() - min(j.unclaimed_since)
      filter (where j.status = 'pending')) / 3600)::float8 as "waitedHours",
    (select coalesce(sum(d.fired), 0)::int8 from ${schema}.schedule_decisions d
      where d.schedule_id = ${mine}) as fired,
    (select coalesce(sum(d.missed), 0)::int8 from ${schema}.schedule_decisions d
      where d.schedule_id = ${mine}) as missed
  from ${schema}.jobs j
  where j.schedule_id = ${mine}`,
)
