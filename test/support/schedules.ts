import type { Settings } from '../../shared/core/read-settings.ts'
import type { FiringDefinitions } from '../../shared/schedules/payload-factory.ts'
import { firing } from '../../shared/schedules/tick/tick.ts'
import type { RunPorts, RunRequest } from '../../shared/sweeper/ports.ts'
import type { RunResult } from '../../shared/sweeper/result.ts'
import { run } from '../../shared/sweeper/run.ts'
import type { TestDatabase } from './database.ts'
import type { Columns } from './rows.ts'
import { portsOn, settingsWith } from './sweeping.ts'

export interface FiringOptions {
  readonly definitions?: FiringDefinitions | null
  readonly settings?: Partial<Settings>
  readonly request?: Partial<RunRequest>
  readonly ports?: Partial<RunPorts>
}

/** Runs `cron` once, as `taskq run cron` does. */
export async function fireOnce(database: TestDatabase, options: FiringOptions = {}): Promise<RunResult> {
  const { definitions = null, settings = {}, request = {}, ports = {} } = options
  const all = settingsWith(settings)
  const asked: RunRequest = { trigger: 'manual', settings: all, ...request }
  return (await run(firing(all, definitions), asked, portsOn(database, ports))) as RunResult
}

/** SQL for columns of a schedule of an intent whose newest instance replaces the one before. */
export const intent: Columns = { shape: `'intent'`, missed: `'latest'`, on_open: `'supersede'` }
/** The same of one of which every instance is owed. */
export const deliverable: Columns = { shape: `'deliverable'`, missed: `'all'`, on_open: `'add'` }

/** No schedule, no job, and nothing that was decided. */
export const clearSchedules = (database: TestDatabase) =>
  database.rows(
    'truncate taskq.jobs, taskq.schedules, taskq.schedule_occurrences, taskq.schedule_decisions cascade',
  )

/** The columns of one whose payload a factory makes. */
export const made = (factory: string): Columns => ({
  payload: 'null',
  payload_factory: `'${factory}'`,
})

/** The midnight of so many days ago, by the database. */
export const midnight = (daysAgo: number) =>
  `date_trunc('day', statement_timestamp(), 'UTC') - interval '${daysAgo} days'`

/** SQL for columns of a schedule of an intent: daily at midnight UTC, and due since yesterday's. */
export const scheduleOf: Columns = {
  name: `'schedule ' || gen_random_uuid()`,
  actor: `'post'`,
  recurrence: `'0 0 * * *'`,
  payload: `'{"n": 1}'`,
  max_unclaimed_age: `interval '48 hours'`,
  next_fire_at: midnight(1),
  revised_at: `statement_timestamp() - interval '1 year'`,
  ...intent,
}

/** Inserts one by hand, with what is given, and its actor, `post`. Answers with its id. */
export async function addSchedule(database: TestDatabase, columns: Columns = {}): Promise<string> {
  const all: Columns = { ...scheduleOf, ...columns }
  await database.rows(`insert into taskq.actors (actor) values ('post') on conflict do nothing`)
  const [row] = await database.rows<{ id: string }>(
    `insert into taskq.schedules (${Object.keys(all).join(', ')})
     values (${Object.values(all).join(', ')}) returning id`,
  )
  return row?.id ?? ''
}

/**
 * What is not as it must be, in a sentence each: an instant with two jobs, a job without its occurrence or
 * the other way round, a cursor that moved without its decision, a sum of decisions that is not what stands.
 * All of it by what is stored, so that it holds after any fault.
 */
export async function brokenFacts(database: TestDatabase): Promise<string[]> {
  const rows = await database.rows<{ fact: string }>(`
    select 'instant twice: ' || schedule_id || ' ' || occurrence_due_at as fact
    from taskq.jobs where schedule_id is not null
    group by schedule_id, occurrence_due_at having count(*) > 1
    union all
    select 'job without its occurrence: ' || j.id from taskq.jobs j
    left join taskq.schedule_occurrences o on o.schedule_id = j.schedule_id and o.job_id = j.id
      and o.due_at = j.occurrence_due_at and o.outcome = 'fired'
    where j.schedule_id is not null and o.job_id is null
    union all
    select 'occurrence without its job: ' || o.job_id from taskq.schedule_occurrences o
    where o.outcome = 'fired' and not exists (select from taskq.jobs j where j.id = o.job_id)
    union all
    select 'decision ' || id || ' begins where none ended' from (
      select id, cursor_from, lag(cursor_to) over of_schedule as before,
        row_number() over of_schedule as place
      from taskq.schedule_decisions window of_schedule as (partition by schedule_id order by id)) as d
    where place > 1 and cursor_from is distinct from before
    union all
    select 'cursor of ' || s.name || ' is not where its decisions left it' from taskq.schedules s
    join lateral (select d.cursor_to from taskq.schedule_decisions d where d.schedule_id = s.id
      order by d.id desc limit 1) as last on last.cursor_to is distinct from s.next_fire_at
    union all
    select 'sum of ' || s.name || ': ' || d.fired || ' decided, ' || j.jobs || ' stored'
    from taskq.schedules s
    join lateral (select coalesce(sum(fired), 0) as fired from taskq.schedule_decisions
      where schedule_id = s.id) as d on true
    join lateral (select count(*) as jobs from taskq.jobs where schedule_id = s.id) as j on true
    where d.fired <> j.jobs`)
  return rows.map(({ fact }) => fact)
}

/** How a schedule stands whose cursor was yesterday's midnight: its failures, its jobs, what it owes. */
export async function standingOf(database: TestDatabase, id: string) {
  const [row] = await database.rows(
    `select s.consecutive_failures as failures, s.last_fire_error as error, s.enabled, s.disabled_by,
       s.next_fire_at = ${midnight(1)} as owed, s.retry_not_before > clock_timestamp() as waits,
       s.deferred_since is not null as deferred,
       (select count(*)::int from taskq.jobs j where j.schedule_id = s.id) as jobs,
       (select count(*)::int from taskq.schedule_occurrences o
        where o.schedule_id = s.id and outcome = 'skipped_open') as skipped
     from taskq.schedules s where s.id = '${id}'`,
  )
  return row
}
