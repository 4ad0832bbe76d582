import { deadlineExceeded } from '../../../shared/sweeps/deadline_exceeded.ts'
import { endedJob, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { laws } from '../../support/laws/index.ts'

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
