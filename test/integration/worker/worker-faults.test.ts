import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TaskQClient } from '../../../functions/entry/client.ts'
import type { RunningWorker } from '../../../functions/entry/worker.ts'
import { startWorker } from '../../../shared/worker/start-worker.ts'
import { useDatabase } from '../../support/database.ts'
import { faultyPorts, faultyWorker, networkFault, statusOf } from '../../support/faulty.ts'
import { settingsWith } from '../../support/sweeping.ts'
import { anything, clientOn, closesWorkers, vitalsOf, workerOn } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()
let taskq: TaskQClient
let running: RunningWorker | undefined
const actor = anything()

beforeEach(async () => {
  taskq = await clientOn(database())
  await database().rows(
    'truncate taskq.jobs, taskq.actors, taskq.workers, taskq.queues, taskq.job_events cascade',
  )
})

afterEach(() => running?.stop())

const start = (...args: Parameters<typeof faultyWorker> extends [unknown, ...infer Rest] ? Rest : never) => {
  const started = faultyWorker(database(), ...args)
  running = started.worker
  return started
}

/** Holds for every job: what its row counts, its attempts and its events say. */
const discrepancies = () =>
  database().rows(
    `select j.id, j.status, j.attempt, j.uncharged, a.*, e.*
     from taskq.jobs j
     cross join lateral (
       select count(*) as attempts, count(*) filter (where outcome = 'released') as released,
         count(*) filter (where outcome = 'succeeded') as succeeded
       from taskq.job_attempts where job_id = j.id) a
     cross join lateral (
       select count(*) as events, count(*) filter (where detail->>'to_state' = 'succeeded') as ends
       from taskq.job_events where job_id = j.id) e
     where j.status <> 'succeeded' or attempts <> j.attempt or events <> j.attempt
       or released <> j.uncharged or succeeded <> 1 or ends <> 1`,
  )

describe('a worker whose connections are ended, all at once and again and again', () => {
  it('loses no job, ends none twice, and gives back uncharged what it never heard of (B047)', async () => {
    const jobs = 3000
    await taskq.enqueueMany(
      actor,
      Array.from({ length: jobs }, (_, n) => n),
    )
    const worker = await workerOn(database(), [actor.run(n => n)], { settings: { pollInterval: 50 } })
    const settled = async () => (await worker.health()).worker.settled.succeeded
    let kills = 0
    for (let before = -1; (await settled()) < jobs; before = await settled()) {
      await expect.poll(async () => (await settled()) > before, { interval: 1, timeout: 20_000 }).toBe(true)
      await database().rows(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'taskq-worker' and datname = current_database()`,
      )
      kills++
    }
    expect(kills).toBeGreaterThan(2)
    const open = `select 1 from taskq.jobs where status <> 'succeeded'`
    await expect.poll(async () => (await database().rows(open)).length).toBe(0)
    expect(await discrepancies()).toEqual([])
    await expect.poll(() => worker.health()).toMatchObject({ healthy: true, worker: { state: 'working' } })
  })
})

describe('a claim', () => {
  it('whose reply was lost gives its jobs back uncharged, and they run (B047)', async () => {
    await taskq.enqueueMany(actor, [1, 2, 3])
    let lost = false
    const after = (name: string) => {
      if (name !== 'claim' || lost) return
      lost = true
      throw networkFault()
    }
    start([actor.run(() => 'ok')], { after })
    await expect.poll(() => vitalsOf(running)).toMatchObject({ settled: { succeeded: 3, released: 3 } })
    expect(await discrepancies()).toEqual([])
    const [cause] = await database().rows(
      `select distinct detail->>'cause' as cause from taskq.job_events where detail->>'reason' = 'released'`,
    )
    expect(cause).toEqual({ cause: 'claim_reply_lost' })
  })
})

describe('a settlement', () => {
  // Before it was executed and after it was, the fault looks the same to the worker (B241).
  it.each(['before', 'after'] as const)(
    'whose connection is lost %s it was executed is stored once',
    async when => {
      await taskq.enqueueMany(actor, [1, 2, 3])
      let faults = 0
      const fault = (name: string) => {
        if (name === 'settle' && ++faults <= 3) throw networkFault()
      }
      const { troubles } = start([actor.run(() => 'ok')], { [when]: fault })
      await expect.poll(() => vitalsOf(running)).toMatchObject({ settled: { succeeded: 3, lost: 0 } })
      expect(await discrepancies()).toEqual([])
      expect(troubles.filter(({ during }) => during === 'settle')).toHaveLength(3)
    },
  )

  it('that the database refuses for one job holds up no other, and the job says so (B074)', async () => {
    await database().rows(
      `create function refuse() returns trigger language plpgsql as $$ begin
         if new.result = '"poison"' then raise exception 'no' using errcode = '23514'; end if;
         return new; end $$;
       create trigger refuse before update on taskq.jobs for each row execute function refuse()`,
    )
    try {
      await taskq.enqueueMany(actor, ['fine', 'poison', 'fine'])
      start([actor.run(payload => payload)], {})
      await expect
        .poll(() => vitalsOf(running))
        .toMatchObject({ settled: { succeeded: 2, failed: 1, abandoned: 0 } })
      const [failed] = await database().rows(
        `select error_class, error_message, result from taskq.jobs where status = 'failed'`,
      )
      expect(failed).toEqual({
        error_class: 'SettleRefused',
        error_message: expect.stringMatching(/23514/),
        result: null,
      })
    } finally {
      await database().rows('drop function refuse cascade')
    }
  })
})

describe('heartbeats', () => {
  const settings = {
    heartbeatInterval: 50,
    heartbeatCommandTimeout: 100,
    maxHeartbeatFailures: 2,
    lockLease: 5000,
    cleanupGrace: 500,
  }

  it('that fail more often than they may give every handler up, once, and then recover', async () => {
    const { id } = await taskq.enqueue(actor, {})
    let isCut = true
    const before = (name: string) => {
      if (name === 'heartbeat' && isCut) throw networkFault()
    }
    const reasons: unknown[] = []
    const { troubles } = start(
      [
        actor.run(async (_payload, { signal, attempt }) => {
          if (attempt > 1) return 'second'
          await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
          reasons.push(signal.reason.stopCause)
          isCut = false
          throw signal.reason
        }),
      ],
      { before },
      settings,
    )
    await expect
      .poll(() => taskq.getJob(id))
      .toMatchObject({ status: 'succeeded', attempt: 2, result: 'second' })
    expect(reasons).toEqual(['heartbeats_failed'])
    // One at the start, which is no beat, and then one more than may fail.
    expect(troubles.filter(({ during }) => during === 'heartbeat')).toHaveLength(3)
    const [released] = await database().rows('select uncharged from taskq.jobs')
    expect(released).toEqual({ uncharged: 1 })
    await expect.poll(async () => (await running?.health())?.healthy).toBe(true)
  })

  it('that hang are given up within one budget, connection and all (B063)', async () => {
    await taskq.enqueue(actor, {})
    let beats = 0
    // The first is the sign of life, on the claims' connection.
    const before = async (name: string) => {
      if (name === 'heartbeat' && ++beats === 2) await new Promise(() => undefined)
    }
    const go = Promise.withResolvers<string>()
    const { troubles } = start([actor.run(() => go.promise)], { before }, settings)
    await expect.poll(() => troubles.map(({ during }) => during)).toContain('heartbeat')
    const beaten = 'select last_heartbeat_at > started_at as beaten from taskq.jobs'
    await expect.poll(async () => (await database().rows(beaten))[0]).toEqual({ beaten: true })
    go.resolve('ok')
    await expect.poll(() => vitalsOf(running)).toMatchObject({ settled: { succeeded: 1 } })
  })
})

describe('a worker whose report of trouble throws', () => {
  it('settles all the same, and stops in peace', async () => {
    await taskq.enqueueMany(actor, [1, 2, 3, 4, 5])
    let faults = 0
    const before = (name: string) => {
      if (name === 'settle' && ++faults <= 3) throw networkFault()
    }
    const report = () => {
      throw new Error('of the application')
    }
    const settings = settingsWith({ pollInterval: 50 })
    const readStatus = statusOf(database(), settings)
    const ports = { ...faultyPorts(database(), { before }), report, readStatus }
    const place = { hostname: 'test', name: 'noisy' }
    running = startWorker(ports, settings, { actors: [actor.run(() => 'ok')] }, place)
    await expect.poll(() => vitalsOf(running)).toMatchObject({ settled: { succeeded: 5 } })
    expect(await discrepancies()).toEqual([])
    await running.stop()
  })
})
