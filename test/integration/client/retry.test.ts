import { beforeEach, describe, expect, it } from 'vitest'
import { clientOn as clientOver } from '../../../shared/client/client.ts'
import type { Connection } from '../../../shared/sql/connection.ts'
import { sessionsWaiting, useDatabase } from '../../support/database.ts'
import {
  endedJob,
  insertJobs,
  type JobColumns,
  pendingJob,
  scheduledJob,
  snapshot,
} from '../../support/jobs.ts'
import { snapshotOf } from '../../support/rows.ts'
import { settingsWith } from '../../support/sweeping.ts'
import {
  claimJobs,
  claimOn,
  clientOn,
  closesWorkers,
  ending,
  error,
  settleOn,
} from '../../support/working.ts'

const database = useDatabase()
closesWorkers()

beforeEach(() => database().rows('truncate taskq.jobs, taskq.jobs_archive, taskq.job_events cascade'))

const retry = async (id: string) => (await clientOn(database())).retry(id)
const rowOf = async (id: string) =>
  (await database().rows('select * from taskq.jobs where id = $1', [id]))[0] ?? {}
const eventsOf = (id: string) =>
  database().rows('select kind, detail from taskq.job_events where job_id = $1 order by id', [id])

/** A job that is over, with all that it may have left behind. */
const ended = (status: 'failed' | 'crashed' | 'cancelled'): JobColumns => ({
  ...endedJob(status),
  attempt: '5',
  uncharged: '2',
  scheduled_at: `now() - interval '1 hour'`,
  first_due_at: `now() - interval '3 days'`,
  started_at: 'now()',
  prune_at: 'now()',
  unclaimed_since: `now() - interval '3 days'`,
  cancel_requested_at: 'now()',
  cancel_reason: `'nobody needs it'`,
  superseded_by: 'gen_random_uuid()',
  error_class: `'DnsError'`,
  error_message: `'no answer'`,
  error_stack: `'DnsError: no answer'`,
  result: `'{"half": true}'`,
  result_size_bytes: '14',
  result_expires_at: 'now()',
  progress: `'{"done": 0.5}'`,
  progress_seq: '7',
  snooze_count: '1',
  idempotency_key: 'gen_random_uuid()::text',
  schedule_to_close: `now() + interval '1 hour'`,
})

describe.each(['failed', 'crashed', 'cancelled'] as const)('a %s job that is redriven', status => {
  it('is pending and due now, without what its end left, and is else as it was', async () => {
    const [id = ''] = await insertJobs(database(), ended(status))
    const before = await rowOf(id)
    expect(await retry(id)).toEqual({ id, from: status })
    const after = await rowOf(id)
    const changed = Object.keys(after).filter(name => String(after[name]) !== String(before[name]))
    const { scheduled_at: scheduledAt, ...rest } = Object.fromEntries(changed.map(n => [n, after[n]]))
    expect(scheduledAt).toBeInstanceOf(Date)
    expect(rest).toEqual({
      status: 'pending',
      uncharged: 5,
      started_at: null,
      finished_at: null,
      prune_at: null,
      cancel_requested_at: null,
      cancel_reason: null,
      superseded_by: null,
      error_class: null,
      error_message: null,
      error_stack: null,
      result: null,
      result_size_bytes: null,
      result_expires_at: null,
      progress: null,
    })
  })

  it('has one event for it, and no attempt', async () => {
    const [id = ''] = await insertJobs(database(), ended(status))
    await retry(id)
    const told = { from_state: status, to_state: 'pending', reason: 'redriven', attempt: 5, actor: 'test' }
    expect(await eventsOf(id)).toEqual([{ kind: 'state_change', detail: told }])
    expect(await snapshotOf(database(), 'job_attempts')).toEqual([])
  })
})

describe('a job that was redriven', () => {
  it('has its full budget again, and its attempts go on counting', async () => {
    const connection = await database().connect()
    const jobs = await claimJobs(database(), connection, { max_attempts: '1', retry_base: `interval '0'` })
    const [job] = jobs
    if (job === undefined) throw new Error('nothing was claimed')
    await settleOn(connection, [ending(job, { verb: 'fail', error })])
    await retry(job.id)
    await database().rows('update taskq.jobs set max_attempts = 2')
    const { jobs: again } = await claimOn(connection)
    expect(again).toMatchObject([{ id: job.id, attempt: 2 }])
    await settleOn(connection, [ending(again[0] ?? job, { verb: 'fail', error })])
    expect(await rowOf(job.id), 'one of two is spent').toMatchObject({ status: 'scheduled', attempt: 2 })
    expect(await database().rows('select attempt from taskq.job_attempts order by attempt')).toHaveLength(2)
  })

  it('has no deadline any more where that has passed', async () => {
    const late = { ...ended('failed'), schedule_to_close: `now() - interval '1 minute'` }
    const [id = ''] = await insertJobs(database(), late)
    await retry(id)
    expect(await rowOf(id)).toMatchObject({ schedule_to_close: null })
  })

  it('was so by one of two who tried at once', async () => {
    const [id = ''] = await insertJobs(database(), ended('failed'))
    const other = await database().client()
    await other.query('begin; select from taskq.jobs for update')
    const tries = Promise.allSettled([retry(id), retry(id)])
    await expect.poll(() => sessionsWaiting(database()), { timeout: 20_000 }).toBe(2)
    await other.query('rollback')
    const outcomes = (await tries).map(each => (each.status === 'rejected' ? each.reason.code : each.value))
    expect(outcomes.filter(each => each === 'JOB_NOT_ENDED')).toHaveLength(1)
    expect(outcomes).toContainEqual({ id, from: 'failed' })
    expect(await eventsOf(id)).toHaveLength(1)
  })

  it('is answered as such where the reply to its commit was lost', async () => {
    const [id = ''] = await insertJobs(database(), ended('crashed'))
    await database().rows(`insert into taskq.job_events (job_id, kind) values ($1, 'state_change')`, [id])
    const connection = await database().connect()
    let losses = 0
    const lossy = new Proxy(connection, {
      get:
        (target, name) =>
        async (...args: unknown[]) => {
          const answer = await Reflect.apply(Reflect.get(target, name, target), target, args)
          if (name !== 'commit' || losses++ > 0) return answer
          throw Object.assign(new Error('the socket is gone'), { code: 'ECONNRESET' })
        },
    })
    const use = <T>(work: (given: Connection) => Promise<T>) => work(lossy)
    const connections = { use, lone: use, close: async () => undefined }
    const client = clientOver({ connections, newJobId: () => '' }, settingsWith())
    expect(await client.retry(id)).toEqual({ id, from: 'crashed' })
    expect(losses, 'it was sent twice').toBe(2)
    expect(await eventsOf(id)).toHaveLength(2)
    await expect(client.retry(id), 'not so where nothing was lost').rejects.toMatchObject({
      code: 'JOB_NOT_ENDED',
    })
  })
})

describe('a refusal writes nothing, and names the field:', () => {
  const running = { status: `'running'`, attempt: '1', locked_by: 'gen_random_uuid()' }

  it.each([
    ['JOB_NOT_ENDED', 'pending', pendingJob()],
    ['JOB_NOT_ENDED', 'scheduled', scheduledJob()],
    ['JOB_NOT_ENDED', 'running', running],
    ['JOB_SUCCEEDED', 'succeeded', endedJob('succeeded')],
  ])('%s of one that is %s', async (code, state, columns) => {
    const [id = ''] = await insertJobs(database(), columns)
    const before = await snapshot(database())
    await expect(retry(id)).rejects.toMatchObject({
      code,
      field: 'id',
      message: expect.stringContaining(state),
    })
    expect(await snapshot(database())).toEqual(before)
    expect(await eventsOf(id)).toEqual([])
  })

  it('JOB_ARCHIVED of one that is in the archive', async () => {
    const [id = ''] = await insertJobs(database(), ended('failed'))
    await database().rows(`with moved as (delete from taskq.jobs returning *)
      insert into taskq.jobs_archive select * from moved`)
    const archived = await snapshotOf(database(), 'jobs_archive')
    await expect(retry(id)).rejects.toMatchObject({
      name: 'JobArchivedError',
      code: 'JOB_ARCHIVED',
      field: 'id',
      id,
    })
    expect(await snapshotOf(database(), 'jobs_archive')).toEqual(archived)
    expect(await eventsOf(id)).toEqual([])
  })

  it('JOB_UNKNOWN of one that there never was, and OPTION_INVALID of what is no id', async () => {
    const unknown = { code: 'JOB_UNKNOWN', field: 'id' }
    await expect(retry('0197c6a5-4d1e-7c58-9a3f-6f8f4f2c9d10')).rejects.toMatchObject(unknown)
    await expect(retry('7')).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'id' })
    await expect(retry(undefined as never)).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'id' })
  })

  it('WRONG_TARGET at another installation', async () => {
    const [id = ''] = await insertJobs(database(), ended('failed'))
    const client = await clientOn(database(), { environment: 'elsewhere' })
    await expect(client.retry(id)).rejects.toMatchObject({ code: 'WRONG_TARGET' })
    expect(await rowOf(id)).toMatchObject({ status: 'failed' })
  })
})
