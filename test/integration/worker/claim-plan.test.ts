import { beforeAll, describe, expect, it } from 'vitest'
import { claim } from '../../../shared/worker/claim.ts'
import { heartbeat } from '../../../shared/worker/heartbeat.ts'
import { untilNextDue } from '../../../shared/worker/next-due.ts'
import { settle, settleArgs } from '../../../shared/worker/settle.ts'
import { useDatabase } from '../../support/database.ts'
import { endedJob, insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { planOf, readsOfJobs } from '../../support/plans.ts'
import { ending, worker1 } from '../../support/working.ts'

describe("the worker's statements over 100,000 rows", () => {
  const database = useDatabase()
  let running: string[] = []

  beforeAll(async () => {
    await insertJobs(database(), pendingJob(), 60_000)
    await insertJobs(database(), { ...pendingJob(), actor: `'other'`, priority: 'n % 10' }, 10_000)
    await insertJobs(database(), scheduledJob(), 10_000)
    await insertJobs(database(), endedJob('succeeded'), 10_000)
    await database().rows(
      `insert into taskq.job_attempts (job_id, attempt, outcome)
       select id, 1, 'succeeded' from taskq.jobs where status = 'succeeded'`,
    )
    running = await insertJobs(database(), lockedJob(), 10_000)
    await database().rows('analyze')
  })

  const lanes = { queues: ['default', 'mail'], actors: ['test', 'other', 'idle'] }
  const claimArgs = { ...lanes, rotation: 0, workerId: worker1.workerId, leaseMs: 60_000 }
  const epochs = (ids: readonly string[]) => ids.map(() => 1)

  describe.each(['custom', 'generic'] as const)('as a %s plan', mode => {
    it.each([1, 10, 1000])(
      'claim finds %i rows by its own index and changes them by their key (B120, B121, B123, B126)',
      async batch => {
        const { nodes, jit } = await planOf(database(), claim, { ...claimArgs, batch }, mode)
        expect(readsOfJobs(nodes)).toEqual({
          scans: expect.not.arrayContaining(['Seq Scan']),
          indexes: ['jobs_claim', 'jobs_pkey'],
        })
        // The walk is in the order of the index, with nothing between it and the lock.
        const kinds = nodes.map(node => node['Node Type'])
        const lock = kinds.indexOf('LockRows')
        expect(kinds.slice(lock - 1, lock + 2)).toEqual(['Limit', 'LockRows', 'Index Scan'])
        expect(nodes[lock + 1]).toMatchObject({ 'Index Name': 'jobs_claim' })
        expect(nodes[lock + 1]?.['Index Cond']).toMatch(/queue = .*actor = /)
        expect(jit).toBeUndefined()
      },
    )

    it.each([1, 500])('settle reads and changes %i jobs by their key alone (B128)', async rows => {
      const jobs = running.slice(0, rows).map(id => ending({ id, attempt: 1, epoch: 1 }))
      const { nodes, jit } = await planOf(database(), settle, settleArgs(jobs, worker1, 86_400_000), mode)
      const { scans, indexes } = readsOfJobs(nodes)
      expect(indexes).toEqual(['jobs_pkey'])
      expect(scans).not.toContain('Seq Scan')
      const attempts = nodes
        .filter(node => node['Relation Name'] === 'job_attempts')
        .map(node => node['Node Type'])
      expect(attempts.toSorted()).toEqual(['Index Scan', 'ModifyTable'])
      expect(jit).toBeUndefined()
    })

    it.each([1, 500])('heartbeat reads and changes %i jobs by their key alone', async rows => {
      const ids = running.slice(0, rows)
      const worker = { ...worker1, hostname: 'h', kind: 'process', queues: ['default'] }
      const args = { ...worker, ids, epochs: epochs(ids), leaseMs: 60_000 }
      const { nodes } = await planOf(database(), heartbeat, args, mode)
      const { scans, indexes } = readsOfJobs(nodes)
      expect(indexes).toEqual(['jobs_pkey'])
      expect(scans).not.toContain('Seq Scan')
    })

    it('the next due instant of a queue is the first entry of its index', async () => {
      const { nodes } = await planOf(database(), untilNextDue, { queues: lanes.queues }, mode)
      expect(readsOfJobs(nodes).indexes).toEqual(['jobs_promotion_by_queue'])
      expect(readsOfJobs(nodes).scans).not.toContain('Seq Scan')
    })
  })
})

describe("the worker's statements over a few thousand rows", () => {
  const database = useDatabase()
  let running: string[] = []

  beforeAll(async () => {
    await insertJobs(database(), pendingJob(), 2000)
    // As after a quiet night: the statistics know of no running job.
    await database().rows('analyze')
    running = await insertJobs(database(), lockedJob(), 1000)
  })

  // There a join that is free to choose would read the whole table: and keep that plan while it grows.
  it('change the rows of a large batch by their key (B128)', async () => {
    const { workerId } = worker1
    const lane = { queues: ['default'], actors: ['test'], rotation: 0, workerId, leaseMs: 60_000 }
    const settlements = running.map(id => ending({ id, attempt: 1, epoch: 1 }))
    const plans = [
      await planOf(database(), claim, { ...lane, batch: 1000 }, 'custom'),
      await planOf(database(), settle, settleArgs(settlements, worker1, 86_400_000), 'custom'),
    ]
    for (const { nodes } of plans) expect(readsOfJobs(nodes).scans).not.toContain('Seq Scan')
    expect(plans.map(({ nodes }) => readsOfJobs(nodes).indexes)).toEqual([
      ['jobs_claim', 'jobs_pkey'],
      ['jobs_pkey'],
    ])
  })
})
