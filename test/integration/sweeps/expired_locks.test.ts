import { expiredLocks } from '../../../shared/sweeps/expired_locks.ts'
import { endedJob, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { laws } from '../../support/laws/index.ts'

const expired = lockedJob({ expired: true })

laws({
  sweep: expiredLocks,
  due: [
    expired,
    lockedJob({ heartbeatMissed: true }),
    lockedJob({ expired: true, heartbeatMissed: true }),
    { ...expired, max_attempts: '1' },
    { ...expired, cancel_requested_at: 'now()' },
  ],
  spared: [
    lockedJob(),
    {
      ...lockedJob(),
      heartbeat_timeout: `interval '1 minute'`,
      heartbeat_expires_at: `now() + interval '1 minute'`,
    },
    { ...pendingJob(), lock_expires_at: `now() - interval '1 hour'` },
    { ...scheduledJob(), lock_expires_at: `now() - interval '1 hour'` },
    { ...endedJob('succeeded'), lock_expires_at: `now() - interval '1 hour'` },
    { status: `'running'`, attempt: '1' },
  ],
  leavesTrace: true,
})
