import type { TestDatabase } from './database.ts'

/** What a schedule, its jobs and all that was decided about them stand in. */
const tables = ['jobs', 'schedules', 'schedule_revisions', 'schedule_occurrences', 'schedule_decisions']

/**
 * Lets time pass for schedules and jobs: moves each of their instants back, so that to the database's clock
 * all is so much older. By whole days of the zone's wall clock a cursor stays on its cron's instants.
 */
export async function age(database: TestDatabase, interval: string, zone = 'UTC'): Promise<void> {
  const columns = await database.rows<{ table: string; sets: string }>(
    `select c.relname as table, string_agg(format('%1$I = (%1$I at time zone %2$L - %3$L::interval)
        at time zone %2$L', a.attname, $2::text, $3::text), ', ') as sets
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'taskq'::regnamespace and c.relname = any ($1)
       and a.atttypid = 'timestamptz'::regtype and a.attgenerated = ''
     group by c.relname`,
    [tables, zone, interval],
  )
  for (const { table, sets } of columns) await database.rows(`update taskq.${table} set ${sets}`)
}
