import { beforeEach, describe, expect, it } from 'vitest'
import type { Handler, TaskQClient } from '../../../functions/entry/client.ts'
import { createWorkerHandler } from '../../../functions/entry/worker.ts'
import { useDatabase } from '../../support/database.ts'
import { makeLogin } from '../../support/logins.ts'
import { settingsWith } from '../../support/sweeping.ts'
import { anything, clientOn, closesWorkers, vitalsOf, workerOn } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()
let taskq: TaskQClient
const actor = anything()

beforeEach(async () => {
  taskq = await clientOn(database())
  await database().rows(
    'truncate taskq.jobs, taskq.actors, taskq.workers, taskq.queues, taskq.job_events cascade',
  )
})

const states = async () =>
  Object.fromEntries(
    (
      await database().rows<{ status: string; n: number }>(
        'select status::text, count(*)::int as n from taskq.jobs group by 1',
      )
    ).map(({ status, n }) => [status, n]),
  )

const whenAborted = (signal: AbortSignal) =>
  new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))

/** Counts its calls, and resolves when there were so many. */
function calls(expected: number) {
  const reached = Promise.withResolvers<void>()
  let count = 0
  const call = () => {
    if (++count === expected) reached.resolve()
  }
  return { call, reached: reached.promise }
}

const brief = { softStopTimeout: 50, cleanupGrace: 50 }

describe('a worker that is told to stop', () => {
  it('claims no more and waits for its handlers', async () => {
    await taskq.enqueueMany(actor, [1, 2, 3, 4, 5])
    const both = calls(2)
    const go = Promise.withResolvers<void>()
    const handler = async () => {
      both.call()
      await go.promise
    }
    const worker = await workerOn(database(), [actor.run(handler)], { concurrency: 2 })
    await both.reached
    const stopped = worker.stop()
    expect(await vitalsOf(worker)).toMatchObject({ state: 'stopping', running: 2 })
    go.resolve()
    await stopped
    expect(await states()).toEqual({ succeeded: 2, pending: 3 })
    expect(await vitalsOf(worker)).toMatchObject({ state: 'stopped', running: 0 })
  })

  it('aborts those that take too long, and gives them back uncharged once they stop', async () => {
    const { id } = await taskq.enqueue(actor, {})
    const started = Promise.withResolvers<void>()
    const handler: Handler<unknown> = async (_payload, { signal }) => {
      started.resolve()
      await whenAborted(signal)
      throw signal.reason
    }
    const settings = { ...brief, cleanupGrace: 5000 }
    const worker = await workerOn(database(), [actor.run(handler)], { settings })
    await started.promise
    await worker.stop()
    const [job] = await database().rows(
      'select id, status::text, uncharged, attempt, locked_by from taskq.jobs',
    )
    expect(job).toEqual({ id, status: 'pending', uncharged: 1, attempt: 1, locked_by: null })
    const [event] = await database().rows(
      `select detail->>'reason' as reason, detail->>'cause' as cause from taskq.job_events`,
    )
    expect(event).toEqual({ reason: 'released', cause: 'soft_stop' })
  })

  it('leaves one that ignores its signal to its lease, so that it never runs twice at once', async () => {
    await taskq.enqueue(actor, {})
    const started = Promise.withResolvers<void>()
    const late = Promise.withResolvers<string>()
    const handler = () => {
      started.resolve()
      return late.promise
    }
    const worker = await workerOn(database(), [actor.run(handler)], { settings: brief })
    await started.promise
    await worker.stop()
    late.resolve('too late')
    await late.promise
    const [job] = await database().rows(
      `select status::text, result, lock_expires_at > now() as leased, locked_by is not null as held
       from taskq.jobs`,
    )
    expect(job).toEqual({ status: 'running', result: null, leased: true, held: true })
    // Its row stays: the worker is not yet gone.
    expect(await database().rows('select kind from taskq.workers')).toEqual([{ kind: 'process' }])
  })

  it('gives back the jobs that it had claimed ahead', async () => {
    await taskq.enqueueMany(
      actor,
      Array.from({ length: 3000 }, (_, n) => n),
    )
    const block = Promise.withResolvers<void>()
    const blocked = Promise.withResolvers<void>()
    const handler = (n: number) => {
      // Fast jobs teach it to claim ahead; then one blocks the only handler.
      if (n < 1000) return undefined
      blocked.resolve()
      return block.promise
    }
    const worker = await workerOn(database(), [actor.run(handler)], { concurrency: 1 })
    await blocked.promise
    const [before] = await database().rows<{ n: number }>(
      `select count(*)::int as n from taskq.jobs where status = 'running'`,
    )
    expect(before?.n).toBeGreaterThan(1)
    const stopped = worker.stop()
    block.resolve()
    await stopped
    const after = await states()
    expect(after).toEqual({ succeeded: 1001, pending: 1999 })
    const [charged] = await database().rows(
      `select count(*)::int as n from taskq.jobs where attempt - uncharged > (status = 'succeeded')::int`,
    )
    expect(charged).toEqual({ n: 0 })
  })

  it('by its signal stops likewise, and takes its row along', async () => {
    const stop = new AbortController()
    const worker = await workerOn(database(), [actor.run(() => 1)], { signal: stop.signal })
    await expect.poll(() => database().rows('select kind from taskq.workers')).toHaveLength(1)
    stop.abort()
    await worker.done
    expect(await database().rows('select kind from taskq.workers')).toEqual([])
  })
})

describe('a Lambda worker', () => {
  const handlerOf = (run: Handler<unknown>, changed = {}) => {
    const settings = settingsWith({ ...database().settings, pollInterval: 50, ...changed })
    return createWorkerHandler({ actors: [actor.run(run)], settings })
  }
  const within = (ms: number) => {
    const endMs = performance.now() + ms
    return { getRemainingTimeInMillis: () => endMs - performance.now(), functionName: 'mail-worker' }
  }

  it('works until nothing is due and then leaves, its row left for the environment', async () => {
    await taskq.enqueueMany(
      actor,
      Array.from({ length: 500 }, (_, n) => n),
    )
    const handler = handlerOf(() => 'ok')
    expect(await handler({ source: 'aws.events' }, within(60_000))).toMatchObject({
      outcome: 'idle',
      succeeded: 500,
      failed: 0,
    })
    expect(await handler({}, within(60_000))).toMatchObject({ outcome: 'idle', succeeded: 0 })
    expect(await database().rows('select name, kind from taskq.workers')).toEqual([
      { name: 'mail-worker', kind: 'lambda' },
    ])
  })

  it('waits for what falls due within five seconds, and not for what is later', async () => {
    await taskq.enqueue(actor, 'soon', { delay: '800ms' })
    await taskq.enqueue(actor, 'later', { delay: '1h' })
    const ran: unknown[] = []
    const handler = handlerOf(payload => ran.push(payload))
    expect(await handler({}, within(60_000))).toMatchObject({ outcome: 'idle', succeeded: 1 })
    expect(ran).toEqual(['soon'])
    const [early] = await database().rows(
      'select count(*)::int as n from taskq.job_attempts where started_at < due_at',
    )
    expect(early).toEqual({ n: 0 })
  })

  it('stops softly before its time is over, and gives back what it could not end', async () => {
    await taskq.enqueueMany(actor, [1, 2])
    const handler = handlerOf(async (_payload, { signal }) => {
      await whenAborted(signal)
      throw signal.reason
    })
    expect(await handler({}, within(4000))).toMatchObject({
      outcome: 'out_of_time',
      released: 2,
      abandoned: 0,
    })
    expect(await states()).toEqual({ pending: 2 })
  })

  it('fails its invocation where it can claim nothing: no schema, no grants, no database', async () => {
    const login = await makeLogin(database(), 'in role taskq_client')
    const nobody = login.url.replace(/:[^:]*@/, ':wrong@')
    for (const [changed, code] of [
      [{ schemaName: 'nothing_here' }, 'NOT_MIGRATED'],
      [{ databaseUrl: login.url, databaseDriver: 'pg' }, 'PERMISSION_DENIED'],
      [{ databaseUrl: nobody, databaseDriver: 'pg' }, 'DATABASE_UNREACHABLE'],
    ] as const) {
      const settings = settingsWith({ ...database().settings, ...changed })
      const handler = createWorkerHandler({
        actors: [actor.run(() => 'ok')],
        settings,
        report: () => undefined,
      })
      await expect(handler({}, within(600_000))).rejects.toMatchObject({ code })
    }
    await login.drop()
  })

  it('fails its invocation, by name, for a wrong setting or option', async () => {
    const unset = createWorkerHandler({ actors: [], settings: settingsWith(database().settings) })
    await expect(unset({}, within(1000))).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'actors' })
  })
})
