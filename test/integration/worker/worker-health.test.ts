import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runWorker } from '../../../functions/entry/worker.ts'
import { useDatabase } from '../../support/database.ts'
import { faultyWorker, networkFault } from '../../support/faulty.ts'
import { insertJobs } from '../../support/jobs.ts'
import { settingsWith } from '../../support/sweeping.ts'
import { ago, statusOnce, unclaimedJob } from '../../support/watching.ts'
import { anything, clientOn, closesWorkers, workerOn } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()
const actor = anything()
const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
beforeEach(() => database().rows('truncate taskq.jobs, taskq.queues, taskq.workers cascade'))

describe('the health of a worker', () => {
  it('is the status of its queue, with how itself is', async () => {
    const worker = await workerOn(database(), [actor.run(() => 1)])
    const taskq = await clientOn(database())
    await taskq.enqueue(actor, {})
    await expect.poll(() => worker.health()).toMatchObject({ worker: { settled: { succeeded: 1 } } })
    const { worker: vitals, ...status } = await worker.health()
    expect(vitals).toEqual({
      state: 'working',
      workerId: expect.any(String),
      running: 0,
      settled: { succeeded: 1, failed: 0, cancelled: 0, released: 0, lost: 0, abandoned: 0 },
      found: expect.any(String),
      heartbeatFailures: 0,
      claimFailures: 0,
      repairErrors: 0,
    })
    expect(status).toMatchObject({ healthy: true, degraded: false, queues: [{ queue: 'default' }] })
    expect(status.workers?.map(({ id }) => id)).toEqual([vitals.workerId])
    expect(Object.keys(status)).toEqual(Object.keys(await statusOnce(database())))
  })

  it('is not good where a job waits too long, though the worker itself is well', async () => {
    await insertJobs(database(), unclaimedJob('1 hour', { queue: `'other'` }))
    const worker = await workerOn(database(), [actor.run(() => 1)])
    await expect.poll(() => worker.health()).toMatchObject({ healthy: false, worker: { claimFailures: 0 } })
    expect((await worker.health()).reasons).toEqual([expect.stringMatching(/^queue other: /)])
  })

  it('stays good where a function is late: that is information', async () => {
    await database().rows(
      `update taskq.sweep_state set last_success_at = ${ago('1 day')}, last_outcome = 'drained'`,
    )
    const worker = await workerOn(database(), [actor.run(() => 1)])
    expect(await worker.health()).toMatchObject({ healthy: true, degraded: true })
    await database().rows('update taskq.sweep_state set last_success_at = null, last_outcome = null')
  })

  it('is not good while its claims fail, though the queue is', async () => {
    let isFailing = true
    const before = (name: string) => {
      if (name === 'claim' && isFailing) throw networkFault()
    }
    const { worker } = faultyWorker(database(), [actor.run(() => 1)], { before })
    ends.push(() => worker.stop())
    await expect.poll(() => worker.health()).toMatchObject({ healthy: false, queues: expect.any(Array) })
    expect((await worker.health()).reasons).toEqual([
      expect.stringMatching(/^this worker: its last .*claims? failed$/),
    ])
    isFailing = false
    await expect.poll(() => worker.health()).toMatchObject({ healthy: true, reasons: [] })
  })

  it('can be asked after its end', async () => {
    const worker = await workerOn(database(), [actor.run(() => 1)])
    await worker.stop()
    expect(await worker.health()).toMatchObject({ healthy: true, worker: { state: 'stopped' } })
  })

  it('is that of its queue after its end, however its last beat and claim went', async () => {
    let isFailing = false
    const before = (name: string) => {
      if (isFailing && ['heartbeat', 'claim'].includes(name)) throw networkFault()
    }
    const { worker } = faultyWorker(database(), [actor.run(() => 1)], { before }, { heartbeatInterval: 50 })
    ends.push(() => worker.stop())
    await expect.poll(() => worker.health()).toMatchObject({ worker: { found: 'empty' } })
    isFailing = true
    await expect.poll(async () => (await worker.health()).reasons).toHaveLength(2)
    await worker.stop()
    const { healthy, reasons, worker: vitals } = await worker.health()
    expect({ healthy, reasons }).toEqual({ healthy: true, reasons: [] })
    expect(vitals.heartbeatFailures).toBeGreaterThan(0)
  })
})

describe('the health of a worker whose database is away', () => {
  const unread = {
    healthy: false,
    functions: null,
    queues: null,
    feed: null,
    oldestSnapshot: null,
    workers: null,
    worker: { state: 'working' },
  }

  async function workerAt(url: string) {
    const settings = settingsWith({
      databaseUrl: url,
      databaseDriver: 'pg',
      connectTimeout: 60_000,
      softStopTimeout: 100,
    })
    const worker = await runWorker({ actors: [actor.run(() => 1)], settings, report: () => undefined })
    return worker
  }

  it('answers that nothing can be read, and why, without the password', async () => {
    const worker = await workerAt('postgres://ada:hunter2@127.0.0.1:1/nowhere')
    ends.push(() => worker.stop())
    await expect.poll(() => worker.health()).toMatchObject(unread)
    const { reasons } = await worker.health()
    expect(reasons.join()).toContain('no connection to 127.0.0.1:1/nowhere')
    expect(reasons.join()).not.toContain('hunter2')
  })

  it('answers so, too, where the database accepts and says nothing', async () => {
    const sockets = new Set<Socket>()
    const silent: Server = createServer(socket => {
      sockets.add(socket)
      socket.on('error', () => undefined)
    })
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as { port: number }
    const worker = await workerAt(`postgres://ada:hunter2@127.0.0.1:${port}/nowhere`)
    const health = await worker.health()
    expect(health).toMatchObject(unread)
    expect(health.reasons.join()).toContain('has not answered within 5 s')
    for (const socket of sockets) socket.destroy()
    silent.close()
    await worker.stop()
  })
})
