import { beforeEach, describe, expect, it } from 'vitest'
import type { ScriptConnection } from '../../../shared/db/driver-connection.ts'
import type { ClaimedJob } from '../../../shared/worker/claim.ts'
import { useDatabase } from '../../support/database.ts'
import type { JobColumns } from '../../support/jobs.ts'
import { fail, release, type SettleCase, settleCases } from '../../support/settle-cases.ts'
import { claimJobs, ending, settleOn, worker1 } from '../../support/working.ts'

describe('a settle', () => {
  const database = useDatabase()
  let connection: ScriptConnection

  beforeEach(async () => {
    await database().rows('truncate taskq.jobs, taskq.job_events cascade')
    connection = await database().connect()
  })

  const claimed = (columns?: JobColumns, rows?: number, meanwhile?: string) =>
    claimJobs(database(), connection, columns, rows, meanwhile)

  const one = async (text: string) => (await database().rows<Record<string, unknown>>(text))[0]

  const settledFrom = async ({ columns, meanwhile, ends }: SettleCase) => {
    const [taken] = await claimed({ scheduled_at: `'2001-01-01'`, ...columns }, 1, meanwhile)
    if (taken === undefined) throw new Error('nothing was claimed')
    return { taken, outcomes: await settleOn(connection, [ending(taken, ends)]) }
  }

  describe.each(settleCases)('where $name', kind => {
    const { ends, outcome, state, reason } = kind

    it('leaves the row as the table says, free of its holder', async () => {
      const { taken, outcomes } = await settledFrom(kind)
      expect(outcomes).toEqual([outcome])
      const comesBack = state === 'scheduled' || state === 'pending'
      expect(await one('select *, status::text as status from taskq.jobs')).toMatchObject({
        status: state,
        attempt: taken.attempt,
        claim_epoch: '1',
        locked_by: null,
        lock_expires_at: null,
        heartbeat_expires_at: null,
        reclaim_at: null,
        ...(comesBack
          ? { started_at: null, finished_at: null, cancel_requested_at: null, cancel_reason: null }
          : { started_at: taken.startedAt }),
        ...kind.job,
      })
    })

    it('records one attempt and tells one event', async () => {
      const { taken } = await settledFrom(kind)
      expect(await database().rows('select * from taskq.job_attempts')).toMatchObject([
        {
          job_id: taken.id,
          attempt: taken.attempt,
          claim_epoch: '1',
          worker_id: worker1.workerId,
          worker_name: 'one',
          outcome,
          due_at: new Date('2001-01-01T00:00:00Z'),
          started_at: taken.startedAt,
          error_class: ends.error?.errorClass ?? null,
          error_message: ends.error?.message ?? null,
        },
      ])
      const about = { worker_id: worker1.workerId, attempt: taken.attempt, actor: 'test' }
      const detail = { from_state: 'running', to_state: state, reason, ...about }
      const told = await database().rows('select job_id, kind, detail from taskq.job_events')
      expect(told).toMatchObject([{ job_id: taken.id, kind: 'state_change', detail }])
    })

    it('has one instant for row, attempt and event; the retry counts from it (B011, B012)', async () => {
      await settledFrom(kind)
      const told = await one(
        `select a.finished_at = e.occurred_at as event,
           coalesce(j.finished_at, a.finished_at) = a.finished_at as job,
           abs(a.duration_ms - extract(epoch from a.finished_at - a.started_at) * 1000) <= 1 as duration,
           j.status <> 'scheduled' or j.attempt > 1
             or extract(epoch from j.scheduled_at - a.finished_at) between 1.6 and 2.4 as retry
         from taskq.jobs j, taskq.job_attempts a, taskq.job_events e`,
      )
      expect(told).toEqual({ event: true, job: true, duration: true, retry: true })
    })
  })

  it('stores no result where it is JSON null', async () => {
    const [job] = await claimed()
    await settleOn(connection, [ending(job as ClaimedJob, { result: 'null' })])
    expect(await one('select result is null as none from taskq.jobs')).toEqual({ none: true })
  })

  it('of many, of every kind, answers by place and stamps them in that order (B010, B127)', async () => {
    const jobs = await claimed({}, 40)
    const kinds = [{}, fail, release, { ...fail, verb: 'fail_for_good' as const }]
    const settlements = jobs.map((job, place) => ending(job, kinds[place % 4])).reverse()
    const outcomeOf: Record<string, string> = { complete: 'succeeded', release: 'released' }
    expect(await settleOn(connection, settlements)).toEqual(
      settlements.map(({ verb }) => outcomeOf[verb] ?? 'failed'),
    )
    const told = await database().rows('select job_id from taskq.job_events order by occurred_at, id')
    expect(told).toEqual(settlements.map(({ id }) => ({ job_id: id })))
    const text =
      'select count(distinct occurred_at)::int as stamps, max(id) - min(id) + 1 as ids from taskq.job_events'
    expect(await one(text)).toEqual({ stamps: 40, ids: '40' })
  })
})
