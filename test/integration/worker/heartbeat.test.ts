import { beforeEach, describe, expect, it } from 'vitest'
import type { ScriptConnection } from '../../../shared/db/driver-connection.ts'
import type { ClaimedJob } from '../../../shared/worker/claim.ts'
import { heartbeat } from '../../../shared/worker/heartbeat.ts'
import { useDatabase } from '../../support/database.ts'
import { insertJobs, type JobColumns, pendingJob } from '../../support/jobs.ts'
import { claimOn, worker1, worker2 } from '../../support/working.ts'

describe('a heartbeat', () => {
  const database = useDatabase()
  let connection: ScriptConnection

  beforeEach(async () => {
    await database().rows('truncate taskq.jobs, taskq.workers cascade')
    connection = await database().connect()
  })

  /** Claims a job with a lease of a minute that began ten minutes ago: it has expired. */
  const held = async (columns: JobColumns = {}, change = 'id = id'): Promise<ClaimedJob> => {
    await insertJobs(database(), { ...pendingJob(), ...columns })
    const { jobs } = await claimOn(connection)
    const stamps = ['started_at', 'lock_expires_at', 'heartbeat_expires_at', 'last_heartbeat_at']
    const ago = stamps.map(stamp => `${stamp} = ${stamp} - interval '10 minutes'`)
    await database().rows(`update taskq.jobs set ${ago}`)
    await database().rows(`update taskq.jobs set ${change}`)
    return jobs[0] as ClaimedJob
  }

  const beat = (jobs: readonly { id: string; epoch: number }[], worker = worker1) =>
    connection.run(heartbeat, {
      ...worker,
      hostname: 'host',
      kind: 'process',
      queues: ['default'],
      ids: jobs.map(job => job.id),
      epochs: jobs.map(job => job.epoch),
      leaseMs: 60_000,
    })

  const spans = async () =>
    (
      await database().rows(
        `select round(extract(epoch from lock_expires_at - clock_timestamp()))::int as lease,
           round(extract(epoch from heartbeat_expires_at - clock_timestamp()))::int as beat,
           round(extract(epoch from clock_timestamp() - last_heartbeat_at))::int as since
         from taskq.jobs`,
      )
    )[0]

  it('renews the lease and the deadline of the next beat, also of an expired lease (C28, B055)', async () => {
    const job = await held({ heartbeat_timeout: `interval '30 s'` })
    expect(await spans()).toEqual({ lease: -540, beat: -570, since: 600 })
    expect(await beat([job])).toMatchObject([{ id: job.id, epoch: 1, cancelRequested: false }])
    expect(await spans()).toEqual({ lease: 60, beat: 30, since: 0 })
  })

  it('renews no lease beyond the time that the attempt has', async () => {
    const job = await held({ start_to_close: `interval '610 s'` })
    await beat([job])
    expect(await spans()).toMatchObject({ lease: 10 })
  })

  it('brings a cancel request and extends nothing: whoever cancelled has granted the grace', async () => {
    const change = `cancel_requested_at = now(), cancel_reason = 'not needed'`
    const job = await held({ heartbeat_timeout: `interval '30 s'` }, change)
    expect(await beat([job])).toMatchObject([
      { id: job.id, cancelRequested: true, cancelReason: 'not needed' },
    ])
    expect(await spans()).toEqual({ lease: -540, beat: -570, since: 0 })
  })

  it.each<[string, (job: ClaimedJob) => { id: string; epoch: number }, typeof worker1, string]>([
    ['another worker holds', job => job, worker2, 'id = id'],
    ['was claimed anew', job => ({ ...job, epoch: 0 }), worker1, 'id = id'],
    ['was reclaimed', job => job, worker1, `status = 'scheduled', locked_by = null`],
    ['is over', job => job, worker1, `status = 'succeeded'`],
  ])(
    'of a job that %s changes nothing and does not name it: it is lost',
    async (_name, as, worker, change) => {
      const job = await held({}, change)
      const rows = () => database().rows('select j::text, xmin::text from taskq.jobs j')
      const before = await rows()
      expect(await beat([as(job)], worker)).toEqual([])
      expect(await rows()).toEqual(before)
    },
  )

  it('renews those that are held and leaves out the others', async () => {
    const first = await held()
    const gone = { id: '00000000-0000-4000-8000-00000000dead', epoch: 1 }
    expect((await beat([gone, first, { ...first, epoch: 9 }])).map(row => row.id)).toEqual([first.id])
  })

  it('keeps the row of its worker, and makes it anew where it was swept', async () => {
    await beat([])
    await database().rows(`update taskq.workers set last_seen_at = '2001-01-01', started_at = '2001-01-01'`)
    await beat([])
    const text = `select id, name, hostname, kind, queues, last_seen_at > now() - interval '1 minute' as seen,
      started_at < now() - interval '1 minute' as same from taskq.workers`
    const identity = {
      id: worker1.workerId,
      name: 'one',
      hostname: 'host',
      kind: 'process',
      queues: ['default'],
    }
    expect(await database().rows(text)).toEqual([{ ...identity, seen: true, same: true }])
    await database().rows('delete from taskq.workers')
    await beat([])
    expect(await database().rows(text)).toEqual([{ ...identity, seen: true, same: false }])
  })
})
