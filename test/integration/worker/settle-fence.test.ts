import { beforeEach, describe, expect, it } from 'vitest'
import type { ScriptConnection } from '../../../shared/db/driver-connection.ts'
import type { ClaimedJob } from '../../../shared/worker/claim.ts'
import type { Settlement } from '../../../shared/worker/settle.ts'
import { useDatabase } from '../../support/database.ts'
import type { JobColumns } from '../../support/jobs.ts'
import { cancelInFlight, fail, release } from '../../support/settle-cases.ts'
import { claimJobs, claimOn, ending, settleOn, worker1, worker2 } from '../../support/working.ts'

describe('a settle', () => {
  const database = useDatabase()
  let connection: ScriptConnection

  beforeEach(async () => {
    await database().rows('truncate taskq.jobs, taskq.job_events cascade')
    connection = await database().connect()
  })

  const claimed = (columns?: JobColumns, rows?: number, meanwhile?: string) =>
    claimJobs(database(), connection, columns, rows, meanwhile)

  const settle = (job: ClaimedJob | undefined, changed: Partial<Settlement> = {}, worker = worker1) =>
    settleOn(connection, [ending(job as ClaimedJob, changed)], worker)

  /** Everything that a worker may write about a job, byte for byte. */
  const everything = () =>
    database().rows(
      `select j::text || j.xmin::text as job,
         (select array_agg(a::text order by attempt) from taskq.job_attempts a) as attempts,
         (select array_agg(e::text order by id) from taskq.job_events e) as events
       from taskq.jobs j order by id`,
    )

  describe('that is not (any more) for its writer', () => {
    it.each<[string, Partial<Settlement>, typeof worker1, string | undefined]>([
      ['another worker', {}, worker2, undefined],
      ['an earlier epoch', { epoch: 0 }, worker1, undefined],
      ['a later epoch', { epoch: 2 }, worker1, undefined],
      ['a job that was reclaimed', {}, worker1, `status = 'scheduled', locked_by = null`],
      ['a job that is over', {}, worker1, `status = 'succeeded'`],
      ['an unknown job', { id: '00000000-0000-4000-8000-00000000dead' }, worker1, undefined],
    ])(
      '%s changes nothing and is told lost, whatever the verb (B058, B060)',
      async (_name, changed, worker, meanwhile) => {
        const [job] = await claimed({}, 1, meanwhile)
        const before = await everything()
        for (const ends of [{}, fail, release]) {
          expect(await settle(job, { ...ends, ...changed }, worker)).toEqual(['lost'])
        }
        expect(await everything()).toEqual(before)
      },
    )

    it('does not hold up the others of its statement', async () => {
      const [first, second] = await claimed({}, 2)
      const settlements = [first, second].map((job, place) => ending(job as ClaimedJob, { epoch: place }))
      expect(await settleOn(connection, settlements)).toEqual(['lost', 'succeeded'])
    })

    it('at the attempt ceiling does not touch the run of another (B058)', async () => {
      const [stale] = await claimed({ attempt: '4' })
      await database().rows(`update taskq.jobs set status = 'pending', locked_by = null, attempt = 4`)
      const again = await claimOn(connection, { workerId: worker2.workerId })
      expect(again.jobs[0]).toMatchObject({ attempt: 5, epoch: 2 })
      const before = await everything()
      expect(await settle(stale)).toEqual(['lost'])
      expect(await everything()).toEqual(before)
      expect(await settle(again.jobs[0], {}, worker2)).toEqual(['succeeded'])
    })

    it('unless its lease has merely expired: expiry permits the steal, the steal fences (C28)', async () => {
      const [job] = await claimed({}, 1, `lock_expires_at = now() - interval '1 hour'`)
      expect(await settle(job)).toEqual(['succeeded'])
    })
  })

  describe('that is repeated since its reply was lost', () => {
    it.each<[string, Partial<Settlement>, string, string | undefined]>([
      ['complete', {}, 'succeeded', undefined],
      ['fail', fail, 'failed', undefined],
      ['fail with a cancel in flight', fail, 'cancelled', cancelInFlight],
      ['release', release, 'released', undefined],
      ['release with a cancel in flight', release, 'cancelled', cancelInFlight],
    ])(
      'as %s is answered with what was stored, and stores nothing',
      async (_name, ends, outcome, meanwhile) => {
        const [job] = await claimed({}, 1, meanwhile)
        expect(await settle(job, ends)).toEqual([outcome])
        const before = await everything()
        expect(await settle(job, ends)).toEqual([outcome])
        expect(await everything()).toEqual(before)
      },
    )

    it('as another verb, or after a reclaim, is lost', async () => {
      const [job] = await claimed()
      await settle(job, fail)
      expect(await settle(job)).toEqual(['lost'])
      await database().rows(`update taskq.job_attempts set outcome = 'crashed'`)
      expect(await settle(job, fail)).toEqual(['lost'])
    })

    it('is answered even when another has claimed the job since', async () => {
      const [job] = await claimed()
      await settle(job, release)
      await claimOn(connection, { workerId: worker2.workerId })
      expect(await settle(job, release)).toEqual(['released'])
    })
  })

  it('where the attempt is recorded already keeps that record and ends the job (B043, B088)', async () => {
    const [job] = await claimed()
    await database().rows(
      `insert into taskq.job_attempts (job_id, attempt, outcome) values ($1, 1, 'crashed')`,
      [job?.id],
    )
    expect(await settle(job)).toEqual(['succeeded'])
    const attempts = await database().rows('select * from taskq.job_attempts')
    expect(attempts).toMatchObject([{ outcome: 'crashed', worker_id: null }])
  })

  it('needs no row of its worker: one that is gone is no hindrance (B044, B134)', async () => {
    const [job] = await claimed()
    await database().rows('delete from taskq.workers')
    expect(await settle(job)).toEqual(['succeeded'])
  })
})
