import type { TestDatabase } from './database.ts'
import { endedJob, insertJobs, lockedJob, pendingJob, scheduledJob } from './jobs.ts'
import { loggedEntry, longAgo, slotBuckets } from './keyed.ts'
import { insertRows } from './rows.ts'

/** One row that is due for each scheduled function; of a function with several arms, one for each. */
export async function insertDueOfEach(database: TestDatabase): Promise<void> {
  await insertJobs(database, pendingJob({ overdue: true }))
  await insertJobs(database, scheduledJob({ due: true }))
  await insertJobs(database, lockedJob({ expired: true }))
  await insertJobs(database, { ...endedJob('succeeded'), result: `'7'`, result_expires_at: longAgo })
  await insertRows(database, 'workers', { id: 'gen_random_uuid()', name: `'gone'`, last_seen_at: longAgo })
  const finalizer = `'{"actor": "end"}'::jsonb`
  await insertRows(database, 'batches', { sealed_at: longAgo, checked_at: longAgo, finalizer })
  const leaked = { bucket: `'leaked'`, slot: '1', lease_expires_at: longAgo, last_used_at: longAgo }
  await insertRows(database, 'reservation_slots', leaked)
  await slotBuckets(1)(database, 1)
  await loggedEntry(longAgo)(database, 1)
}

/** Takes all of them away. */
export async function clearDue(database: TestDatabase): Promise<void> {
  await database.rows(`truncate taskq.jobs, taskq.job_events, taskq.workers, taskq.batches,
    taskq.reservation_slots, taskq.rate_limit_buckets, taskq.rate_limit_window_entries cascade`)
}
