import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { retryDelaySeconds } from '../../../shared/core/retry-curve.ts'
import { expiredLocks } from '../../../shared/sweeps/expired_locks.ts'
import { useDatabase } from '../../support/database.ts'
import { insertJobs, lockedJob } from '../../support/jobs.ts'
import { sweepOnce } from '../../support/sweeping.ts'

const database = useDatabase()
const expired = lockedJob({ expired: true })

/** Policies and attempts, the ends of every range among them: interval arithmetic overflowed at the 42nd. */
const policy = fc.record({
  backoff: fc.constantFrom('exponential' as const, 'linear' as const, 'fixed' as const),
  base: fc.oneof(
    fc.constantFrom(0, 0.25, 2, 3600, 1e9),
    fc.integer({ min: 0, max: 1e8 }).map(ms => ms / 1000),
  ),
  cap: fc.oneof(
    fc.constantFrom(0, 1, 3600, 1e9),
    fc.integer({ min: 0, max: 1e9 }).map(ms => ms / 1000),
  ),
  jitter: fc.oneof(fc.constantFrom(0, 0.2, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  n: fc.oneof(fc.constantFrom(1, 2, 42, 68, 10_000), fc.integer({ min: 1, max: 100 })),
  uncharged: fc.integer({ min: 0, max: 20 }),
})

describe('the retry curve', () => {
  it('in SQL is the one in TypeScript, for any policy and attempt (B049 to B053)', {
    timeout: 300_000,
  }, async () => {
    const policies = fc.sample(policy, 400)
    const ids: string[] = []
    for (const { backoff, base, cap, jitter, n, uncharged } of policies) {
      const columns = {
        retry_kind: `'indefinite'`,
        retry_backoff: `'${backoff}'`,
        retry_base: `make_interval(secs => ${base})`,
        retry_cap: `make_interval(secs => ${cap})`,
        retry_jitter: String(jitter),
        attempt: String(n + uncharged),
        uncharged: String(uncharged),
      }
      ids.push(...(await insertJobs(database(), { ...expired, ...columns })))
    }
    expect(await sweepOnce(database(), expiredLocks)).toMatchObject({ rows: policies.length })
    const rows = await database().rows<{ id: string; attempt: number; delay: number }>(
      `select j.id, j.attempt, extract(epoch from j.scheduled_at - e.occurred_at)::float8 as delay
       from taskq.jobs j join taskq.job_events e on e.job_id = j.id where j.id = any ($1)`,
      [ids],
    )
    for (const { id, attempt, delay } of rows) {
      const { backoff, base, cap, jitter, n } = policies[ids.indexOf(id)] as (typeof policies)[number]
      const given = {
        kind: 'indefinite',
        backoff,
        baseSeconds: base,
        capSeconds: cap,
        jitter,
        maxAttempts: 5,
      } as const
      const position = createHash('md5').update(`${id}:${attempt}`).digest().readUInt32BE(0) / 2 ** 32
      expect(delay).toBeCloseTo(retryDelaySeconds(given, n, 86_400, position), 4)
    }
  })

  it('spreads a cohort instead of retrying it at one instant (B049, B051)', async () => {
    const ids = await insertJobs(database(), { ...expired, attempt: '4' }, 200)
    await sweepOnce(database(), expiredLocks)
    const [spread] = await database().rows<{ instants: number; width: number }>(
      `select count(distinct scheduled_at)::int as instants,
         extract(epoch from max(scheduled_at) - min(scheduled_at))::float8 as width
       from taskq.jobs where id = any ($1)`,
      [ids],
    )
    // 16 s, jitter a fifth: a band of 6.4 s, most of which two hundred jobs fill; two of them may meet.
    expect(spread?.instants).toBeGreaterThan(190)
    expect(spread?.width).toBeGreaterThan(5)
  })
})
