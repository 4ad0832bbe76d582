import type { Arm, Sweep } from '../../shared/sweeper/define.ts'
import { sweeps } from '../../shared/sweeps/index.ts'
import { endedJob, lockedJob, pendingJob, scheduledJob } from '../support/jobs.ts'
import { limitBucket, longAgo, slotBuckets, tokens } from '../support/keyed.ts'
import { insertRows, type Kind } from '../support/rows.ts'

/** What is measured of one arm: rows that are due, and where it is worth a look, others that are not. */
export interface Case {
  readonly name: string
  readonly sweep: Sweep
  readonly arm: Arm
  readonly due: Kind
  readonly live?: Kind
}

/** By the arm's statement, which has a name of its own. */
const rows: Readonly<Record<string, Pick<Case, 'due' | 'live'>>> = {
  'expired-locks': { due: lockedJob({ expired: true, heartbeatMissed: true }), live: lockedJob() },
  promotion: { due: scheduledJob({ due: true }), live: scheduledJob() },
  'deadline-exceeded': { due: pendingJob({ overdue: true }) },
  'expired-results': {
    due: {
      ...endedJob('succeeded'),
      result: `jsonb_build_object('text', repeat('x', 500))`,
      result_size_bytes: '512',
      result_expires_at: longAgo,
    },
  },
  'leaked-reservation-slots': {
    due: { bucket: `'b' || n / 10`, slot: 'n', job_id: 'gen_random_uuid()', lease_expires_at: longAgo },
  },
  'stale-workers': { due: { id: 'gen_random_uuid()', name: `'gone'`, last_seen_at: longAgo } },
  'stale-batches': {
    due: { sealed_at: longAgo, checked_at: longAgo, finalizer: `'{"actor": "end"}'::jsonb` },
  },
  'idle-slots': { due: (database, count) => slotBuckets(10)(database, count / 10) },
  'idle-entries': {
    due: async (database, count) => {
      const log = limitBucket({ window_seconds: 60 }, { bucket: `'log' || n` })
      await insertRows(database, 'rate_limit_buckets', log, 500)
      const entry = { bucket: `'log' || (n % 500 + 1)`, at: longAgo, request_id: 'gen_random_uuid()' }
      await insertRows(database, 'rate_limit_window_entries', entry, count)
    },
  },
  'idle-buckets': { due: limitBucket(tokens(0, 100, 1)) },
}

/** Every arm there is: one without rows here is a mistake. */
export const cases: readonly Case[] = sweeps.flatMap(sweep =>
  sweep.arms.map(arm => {
    const { name } = arm.batch
    const measured = rows[name]
    if (measured === undefined) throw new Error(`${name} has no rows to be measured with`)
    return { name, sweep, arm, ...measured }
  }),
)
