import { describe, expect, it } from 'vitest'
import { staleWorkers } from '../../../shared/sweeps/stale_workers.ts'
import { heartbeat } from '../../../shared/worker/heartbeat.ts'
import { useDatabase } from '../../support/database.ts'
import { insertJobs, lockedJob } from '../../support/jobs.ts'
import { laws } from '../../support/laws/index.ts'
import { insertRows } from '../../support/rows.ts'
import { sweepOnce } from '../../support/sweeping.ts'

/** A worker that was seen last so long ago. */
const workerSeen = (kind: 'process' | 'lambda', ago: string) => ({
  id: 'gen_random_uuid()',
  name: `'worker-' || n`,
  kind: `'${kind}'`,
  last_seen_at: `statement_timestamp() - interval '${ago}' + n * interval '1 millisecond'`,
})

laws({
  sweep: staleWorkers,
  // A process misses six beats of ten seconds.
  due: [
    workerSeen('process', '2 minutes'),
    workerSeen('process', '3 hours'),
    workerSeen('lambda', '2 hours'),
  ],
  spared: [
    workerSeen('process', '0'),
    workerSeen('process', '50 seconds'),
    // Silent for longer than most processes that are due, and well.
    workerSeen('lambda', '55 minutes'),
    { ...workerSeen('process', '0'), last_seen_at: `'infinity'` },
  ],
  leavesTrace: false,
})

const database = useDatabase()
const names = async () =>
  (await database().rows<{ name: string }>('select name from taskq.workers order by name')).map(
    ({ name }) => name,
  )

describe('a silent worker', () => {
  it('is deleted after as many beats as the settings say, and not before', async () => {
    const seen = (name: string, seconds: number) => ({
      ...workerSeen('process', `${seconds} seconds`),
      name: `'${name}'`,
    })
    // 2 s × (5 + 3) is 16 s.
    await insertRows(database(), 'workers', seen('well', 14))
    await insertRows(database(), 'workers', seen('gone', 17))
    const settings = { heartbeatInterval: 2000, maxHeartbeatFailures: 5, lockLease: 60_000 }
    expect(await sweepOnce(database(), staleWorkers, { settings })).toMatchObject({
      rows: 1,
      byDisposition: { deleted: 1 },
      byActor: {},
    })
    expect(await names()).toEqual(['well'])
    await database().rows('truncate taskq.workers')
  })

  it('leaves its jobs and its attempts as they are', async () => {
    const worker = '00000000-0000-4000-8000-00000000000c'
    const row = { ...workerSeen('process', '1 hour'), id: `'${worker}'`, name: `'worker-7'` }
    await insertRows(database(), 'workers', row)
    const [id] = await insertJobs(database(), { ...lockedJob(), locked_by: `'${worker}'` })
    await database().rows(
      `insert into taskq.job_attempts (job_id, attempt, worker_id, worker_name, outcome)
       values ($1, 1, $2, 'worker-7', 'failed')`,
      [id, worker],
    )
    const rest = () =>
      database().rows(`select j::text as job, a::text as attempt,
          j.xmin::text as job_at, a.xmin::text as attempt_at
        from taskq.jobs j join taskq.job_attempts a on a.job_id = j.id`)
    const before = await rest()
    expect(await sweepOnce(database(), staleWorkers)).toMatchObject({ rows: 1 })
    expect(await rest()).toEqual(before)
    expect(before).toHaveLength(1)
  })

  it('is listed again with its next beat, and holds its job still, where it was alive', async () => {
    const worker = {
      workerId: '00000000-0000-4000-8000-00000000000d',
      name: 'alive',
      hostname: 'here',
      kind: 'process' as const,
      queues: ['default'],
    }
    const row = { ...workerSeen('process', '1 hour'), id: `'${worker.workerId}'`, name: `'alive'` }
    await insertRows(database(), 'workers', row)
    const [id = ''] = await insertJobs(database(), { ...lockedJob(), locked_by: `'${worker.workerId}'` })
    expect(await sweepOnce(database(), staleWorkers)).toMatchObject({ rows: 1 })
    expect(await names()).toEqual([])
    const connection = await database().connect()
    const beat = { ...worker, ids: [id], epochs: [1], leaseMs: 60_000 }
    expect(await connection.run(heartbeat, beat)).toMatchObject([{ id, cancelRequested: false }])
    expect(await names()).toEqual(['alive'])
    expect(await sweepOnce(database(), staleWorkers)).toMatchObject({ rows: 0 })
  })

  it('is found behind any number of the other kind, however much longer those were silent', async () => {
    await database().rows('truncate taskq.workers')
    await insertRows(database(), 'workers', workerSeen('lambda', '59 minutes'), 150)
    await insertRows(database(), 'workers', workerSeen('process', '2 minutes'), 5)
    const settings = { eventWriterBatchSize: 10 }
    expect(await sweepOnce(database(), staleWorkers, { settings })).toMatchObject({ rows: 5, batches: 1 })
  })
})
