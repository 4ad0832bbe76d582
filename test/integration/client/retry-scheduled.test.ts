import { beforeEach, describe, expect, it } from 'vitest'
import { retryJob } from '../../../shared/client/retry-job.ts'
import { sessionsWaiting, useDatabase } from '../../support/database.ts'
import { endedJob, insertJobs } from '../../support/jobs.ts'
import { addSchedule, fireOnce, midnight } from '../../support/schedules.ts'
import { clientOn, closesWorkers } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()

beforeEach(() =>
  database().rows(`truncate taskq.jobs, taskq.schedules, taskq.schedule_occurrences,
    taskq.schedule_decisions cascade`),
)

const rowOf = async (id: string) =>
  (await database().rows('select * from taskq.jobs where id = $1', [id]))[0] ?? {}

describe('a job of a schedule that is redriven', () => {
  const failedJobOf = async (schedule: string) => {
    const columns = { ...endedJob('failed'), actor: `'post'`, schedule_id: `'${schedule}'` }
    return (await insertJobs(database(), columns))[0] ?? ''
  }

  it('waits for a tick that holds its schedule', async () => {
    const id = await failedJobOf(await addSchedule(database()))
    const tick = await database().client()
    await tick.query('begin; select from taskq.schedules for no key update')
    const client = await clientOn(database(), { batchLockTimeoutMs: 10 })
    const retried = client.retry(id)
    await expect.poll(() => sessionsWaiting(database()), { timeout: 20_000 }).toBe(1)
    await tick.query('rollback')
    expect(await retried).toEqual({ id, from: 'failed' })
  })

  it('is left as it is where that takes too long', async () => {
    const id = await failedJobOf(await addSchedule(database()))
    const holder = await database().client()
    await holder.query('begin; select from taskq.schedules for no key update')
    const client = await clientOn(database(), { cronTickTimeoutMs: 500 })
    await expect(client.retry(id)).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      message: expect.stringContaining('the job or its schedule'),
    })
    await holder.query('rollback')
    expect(await rowOf(id)).toMatchObject({ status: 'failed' })
  })

  it('keeps a tick away while it comes back, and the next one finds it open', async () => {
    const schedule = await addSchedule(database(), { next_fire_at: midnight(0) })
    const id = await failedJobOf(schedule)
    const connection = await database().connect()
    await connection.script('begin')
    await connection.run(retryJob, { id })
    const during = await fireOnce(database())
    expect(during.byDisposition ?? {}).not.toHaveProperty('fired')
    await connection.script('commit')
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1, superseded: 1 } })
    expect(await rowOf(id)).toMatchObject({ status: 'cancelled', superseded_by: expect.any(String) })
  })
})
