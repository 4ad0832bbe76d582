import { beforeEach, describe, expect, it } from 'vitest'
import type { Handler, TaskQClient } from '../../../functions/entry/client.ts'
import type { JobStopped } from '../../../functions/entry/worker.ts'
import { useDatabase } from '../../support/database.ts'
import { anything, clientOn, closesWorkers, vitalsOf, workerOn } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()
let taskq: TaskQClient
const actor = anything()

/** Beats twenty times a second; the lease is what such beats need at least. */
const quickBeats = {
  heartbeatInterval: 50,
  heartbeatCommandTimeout: 500,
  lockLease: 5000,
  cleanupGrace: 2000,
}

beforeEach(async () => {
  taskq = await clientOn(database())
  await database().rows(
    'truncate taskq.jobs, taskq.actors, taskq.workers, taskq.queues, taskq.job_events cascade',
  )
})

/** A handler that waits for its signal and then ends by `end`; and the reason that it saw. */
function untilAborted(end: (reason: unknown) => unknown) {
  const started = Promise.withResolvers<void>()
  const reason = Promise.withResolvers<JobStopped>()
  const handler: Handler<unknown> = async (_payload, { signal }) => {
    started.resolve()
    await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
    reason.resolve(signal.reason)
    return end(signal.reason)
  }
  return { handler, started: started.promise, reason: reason.promise }
}

const rethrow = (reason: unknown) => {
  throw reason
}

const trace = async () => ({
  attempts: (await database().rows<{ outcome: string }>('select outcome from taskq.job_attempts')).map(
    a => a.outcome,
  ),
  events: (
    await database().rows<{ to: string }>(`select detail->>'to_state' as to from taskq.job_events`)
  ).map(e => e.to),
})

describe('a cancel request of a running job', () => {
  it('is delivered by the heartbeat, and ends the job cancelled once its handler stops', async () => {
    const { id } = await taskq.enqueue(actor, {})
    const { handler, started, reason } = untilAborted(rethrow)
    const worker = await workerOn(database(), [actor.run(handler)], { settings: quickBeats })
    await started
    await database().rows(`update taskq.jobs set cancel_requested_at = now(), cancel_reason = 'a mistake'`)
    expect(await reason).toMatchObject({ name: 'JobStopped', stopCause: 'cancelled', message: /a mistake/ })
    await expect.poll(async () => (await taskq.getJob(id))?.status).toBe('cancelled')
    expect(await trace()).toEqual({ attempts: ['cancelled'], events: ['cancelled'] })
    await expect.poll(() => vitalsOf(worker)).toMatchObject({ settled: { cancelled: 1 } })
  })

  it('comes too late for a handler that has done its work: the job succeeds', async () => {
    const { id } = await taskq.enqueue(actor, {})
    const { handler, started } = untilAborted(() => 'done all the same')
    await workerOn(database(), [actor.run(handler)], { settings: quickBeats })
    await started
    await database().rows('update taskq.jobs set cancel_requested_at = now()')
    await expect
      .poll(async () => taskq.getJob(id))
      .toMatchObject({ status: 'succeeded', result: 'done all the same' })
  })
})

describe('a job that was taken away', () => {
  it('aborts its handler, and whatever that does is not heard (B058)', async () => {
    await taskq.enqueue(actor, {})
    const { handler, started, reason } = untilAborted(() => 'stale')
    const worker = await workerOn(database(), [actor.run(handler)], { settings: quickBeats })
    await started
    await database().rows(
      `update taskq.jobs set status = 'scheduled', locked_by = null, scheduled_at = now() + interval '1 h'`,
    )
    expect((await reason).stopCause).toBe('lease_lost')
    await worker.stop()
    const [job] = await database().rows('select status::text, result, attempt from taskq.jobs')
    expect(job).toEqual({ status: 'scheduled', result: null, attempt: 1 })
    expect(await trace()).toEqual({ attempts: [], events: [] })
  })

  it('may be claimed anew by the same worker while the old handler still runs', async () => {
    const { id } = await taskq.enqueue(actor, {})
    const first = untilAborted(() => 'stale')
    const handler: Handler<unknown> = (payload, context) =>
      context.attempt === 1 ? first.handler(payload, context) : 'fresh'
    await workerOn(database(), [actor.run(handler)], { settings: quickBeats })
    await first.started
    await database().rows(`update taskq.jobs set status = 'pending', locked_by = null`)
    expect((await first.reason).stopCause).toBe('lease_lost')
    await expect
      .poll(() => taskq.getJob(id))
      .toMatchObject({ status: 'succeeded', attempt: 2, result: 'fresh' })
    expect(await trace()).toEqual({ attempts: ['succeeded'], events: ['succeeded'] })
  })
})

describe('startToClose', () => {
  it('aborts the handler at that age and fails the attempt, though the handler then succeeds', async () => {
    const { id } = await taskq.enqueue(actor, {}, { startToClose: '300ms' })
    const { handler, reason } = untilAborted(() => 'too late')
    await workerOn(database(), [actor.run(handler)])
    expect((await reason).stopCause).toBe('start_to_close')
    await expect
      .poll(() => taskq.getJob(id))
      .toMatchObject({
        status: 'scheduled',
        attempt: 1,
        result: null,
        errorClass: 'StartToCloseExceeded',
      })
    expect(await trace()).toEqual({ attempts: ['failed'], events: ['scheduled'] })
  })

  it('does not touch a job that ends in time', async () => {
    const { id } = await taskq.enqueue(actor, {}, { startToClose: '1h' })
    await workerOn(database(), [actor.run(() => 'in time')])
    await expect.poll(() => taskq.getJob(id)).toMatchObject({ status: 'succeeded', result: 'in time' })
  })
})

describe('a heartbeat timeout shorter than the interval of the beats', () => {
  it('is beaten for in time: the job keeps its deadline ahead (B055, B062)', async () => {
    const settings = { heartbeatInterval: 60_000, lockLease: 600_000 }
    await taskq.enqueue(actor, {}, { heartbeatTimeout: '1s' })
    const { handler, started } = untilAborted(rethrow)
    await workerOn(database(), [actor.run(handler)], { settings })
    await started
    const beaten = `select last_heartbeat_at > started_at + interval '1 s' as beaten from taskq.jobs`
    await expect
      .poll(async () => (await database().rows(beaten))[0], { timeout: 20_000 })
      .toEqual({ beaten: true })
    const alive = 'select heartbeat_expires_at > last_heartbeat_at as alive, status::text from taskq.jobs'
    expect((await database().rows(alive))[0]).toEqual({ alive: true, status: 'running' })
  })
})
