import { promotion } from '../../../shared/sweeps/promotion.ts'
import { endedJob, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { laws } from '../../support/laws/index.ts'

laws({
  sweep: promotion,
  due: [scheduledJob({ due: true }), { ...scheduledJob({ due: true }), attempt: '3', started_at: 'now()' }],
  spared: [
    scheduledJob(),
    { ...pendingJob(), scheduled_at: `now() - interval '1 hour'` },
    lockedJob(),
    { ...endedJob('failed'), scheduled_at: `now() - interval '1 hour'` },
  ],
  leavesTrace: false,
})
