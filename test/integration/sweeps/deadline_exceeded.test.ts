import { describe, expect, it } from 'vitest'
import { deadlineExceeded } from '../../../shared/sweeps/deadline_exceeded.ts'
import { useDatabase } from '../../support/database.ts'
import { endedJob, insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { laws } from '../../support/laws/index.ts'
import { sweepOnce } from '../../support/sweeping.ts'

const overdue = { schedule_to_close: `now() - interval '1 hour' + n * interval '1 millisecond'` }

laws({
  sweep: deadlineExceeded,
  due: [
    pendingJob({ overdue: true }),
    { ...scheduledJob(), ...overdue },
    { ...pendingJob(), ...overdue, attempt: '2' },
  ],
  spared: [
    pendingJob(),
    scheduledJob(),
    { ...pendingJob(), schedule_to_close: `now() + interval '1 hour'` },
    { ...lockedJob(), ...overdue },
    { ...endedJob('succeeded'), ...overdue },
  ],
  leavesTrace: true,
})

const database = useDatabase()

describe('a job that was not started in time', () => {
  it('fails, and its row, its attempt and its event say so with one stamp', async () => {
    const before = { error_stack: `'of an attempt before'` }
    const [id] = await insertJobs(database(), { ...pendingJob({ overdue: true }), ...before })
    expect(await sweepOnce(database(), deadlineExceeded)).toMatchObject({ byDisposition: { failed: 1 } })
    const [fate] = await database().rows(
      `select j.status::text, j.error_class, j.error_stack,
         a.outcome, a.error_class as attempt_error, a.attempt,
         e.detail->>'reason' as reason,
         j.finished_at = a.finished_at and a.finished_at = e.occurred_at as one_stamp
       from taskq.jobs j
       join taskq.job_attempts a on a.job_id = j.id join taskq.job_events e on e.job_id = j.id
       where j.id = $1`,
      [id],
    )
    expect(fate).toEqual({
      status: 'failed',
      error_class: 'DeadlineExceeded',
      error_stack: null,
      outcome: 'failed',
      attempt_error: 'DeadlineExceeded',
      attempt: 0,
      reason: 'deadline_exceeded',
      one_stamp: true,
    })
  })

  it('keeps the record of the attempt that it had before it waited for a retry (B088)', async () => {
    const [id] = await insertJobs(database(), { ...scheduledJob(), ...overdue, attempt: '2' })
    await database().rows(
      `insert into taskq.job_attempts (job_id, attempt, outcome, error_class)
       values ($1, 2, 'failed', 'First')`,
      [id],
    )
    expect(await sweepOnce(database(), deadlineExceeded)).toMatchObject({ rows: 1 })
    const attempts = await database().rows(
      `select attempt, error_class from taskq.job_attempts where job_id = $1`,
      [id],
    )
    expect(attempts).toEqual([{ attempt: 2, error_class: 'First' }])
  })
})
