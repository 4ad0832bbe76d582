import type { Settings } from '../../shared/core/read-settings.ts'
import type { FiringDefinitions } from '../../shared/schedules/payload-factory.ts'
import { firing } from '../../shared/schedules/tick.ts'
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

/** The midnight of so many days ago, by the database. */
export const midnight = (daysAgo: number) =>
  `date_trunc('day', statement_timestamp(), 'UTC') - interval '${daysAgo} days'`

/**
 * Inserts a schedule by hand, daily at midnight UTC and due since yesterday's, with what is given; its actor
 * is `post`, which is made as well. Answers with its id.
 */
export async function addSchedule(database: TestDatabase, columns: Columns = {}): Promise<string> {
  const all: Columns = {
    name: `'schedule ' || gen_random_uuid()`,
    actor: `'post'`,
    recurrence: `'0 0 * * *'`,
    payload: `'{"n": 1}'`,
    max_unclaimed_age: `interval '48 hours'`,
    next_fire_at: midnight(1),
    revised_at: `statement_timestamp() - interval '1 year'`,
    ...intent,
    ...columns,
  }
  await database.rows(`insert into taskq.actors (actor) values ('post') on conflict do nothing`)
  const [row] = await database.rows<{ id: string }>(
    `insert into taskq.schedules (${Object.keys(all).join(', ')})
     values (${Object.values(all).join(', ')}) returning id`,
  )
  return row?.id ?? ''
}
