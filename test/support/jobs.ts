import type { TestDatabase } from './database.ts'
import { type Columns, snapshotOf } from './rows.ts'

/** SQL for columns of new jobs, by name; `n` counts the rows from 1. */
export type JobColumns = Columns

const inPast = `statement_timestamp() - interval '1 hour' + n * interval '1 millisecond'`
const ahead = `statement_timestamp() + interval '1 hour' + n * interval '1 millisecond'`

/** A job that a worker holds; its lease, or its heartbeat's deadline, may have passed. */
export function lockedJob({ expired = false, heartbeatMissed = false } = {}): JobColumns {
  return {
    status: `'running'`,
    attempt: '1',
    claim_epoch: '1',
    started_at: `statement_timestamp() - interval '2 hours'`,
    locked_by: 'gen_random_uuid()',
    lock_expires_at: expired ? inPast : ahead,
    ...(heartbeatMissed ? { heartbeat_timeout: `interval '30 seconds'`, heartbeat_expires_at: inPast } : {}),
  }
}

/** A job that waits for its instant, which may have come. */
export function scheduledJob({ due = false } = {}): JobColumns {
  const at = due ? inPast : ahead
  return { status: `'scheduled'`, scheduled_at: at, first_due_at: at }
}

/** A job that is ready; it may have waited longer than its caller allows. */
export function pendingJob({ overdue = false } = {}): JobColumns {
  return { status: `'pending'`, ...(overdue ? { schedule_to_close: inPast } : {}) }
}

/** A job that is over. */
export function endedJob(status: 'succeeded' | 'failed' | 'cancelled' | 'crashed'): JobColumns {
  return { status: `'${status}'`, attempt: '1', finished_at: inPast }
}

/** Inserts a number of like jobs by hand, as a user may; answers with their ids in order. */
export async function insertJobs(database: TestDatabase, columns: JobColumns, rows = 1): Promise<string[]> {
  const given = Object.entries({ actor: `'test'`, ...columns })
  const inserted = await database.rows<{ id: string }>(
    `insert into taskq.jobs (id, ${given.map(([name]) => name).join(', ')})
     select gen_random_uuid(), ${given.map(([, value]) => value).join(', ')}
     from generate_series(1, ${rows}) as n returning id`,
  )
  return inserted.map(({ id }) => id)
}

/** The jobs that hold to a condition, for comparing byte for byte. */
export function snapshot(database: TestDatabase, where?: string): Promise<string[]> {
  return snapshotOf(database, 'jobs', where)
}
