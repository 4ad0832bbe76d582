import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { createWorkerHandler, runWorker } from '../../../functions/entry/worker.ts'
import type { Settings } from '../../../shared/core/read-settings.ts'
import { useDatabase } from '../../support/database.ts'
import { insertJobs, pendingJob, scheduledJob, snapshot } from '../../support/jobs.ts'
import { settingsWith } from '../../support/sweeping.ts'
import { anything, clientOn, closesWorkers, workerOn } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()

let own: { installationId: string; environment: string }
beforeEach(async () => {
  await database().rows('truncate taskq.jobs cascade')
  await database().rows(`truncate taskq.workers, taskq.queues, taskq.actors`)
  const [row] = await database().rows<typeof own>(`update taskq.installation set environment = 'production'
    returning installation_id as "installationId", environment`)
  own = row as typeof own
})

/** Pins that this database does not match: of a clone in another environment, and of another database. */
const strangers: [string, () => Partial<Settings>][] = [
  ['another installation', () => ({ ...own, installationId: randomUUID() })],
  ['another environment', () => ({ ...own, environment: 'staging' })],
]

/** Everything that a client or a worker could write. */
const everything = () =>
  database().rows(`select (select count(*) from taskq.actors) as actors,
    (select count(*) from taskq.workers) as workers, (select count(*) from taskq.queues) as queues,
    (select jsonb_agg(to_jsonb(j) order by id) from taskq.jobs j) as jobs`)

const actors = [anything().run(async () => undefined)]
const report = () => undefined

describe.each(strangers)('at a database of %s', (_, pins) => {
  it('one enqueue is refused as the wrong target, and stores nothing', async () => {
    const client = await clientOn(database(), pins())
    await expect(client.enqueue(anything(), {})).rejects.toMatchObject({ code: 'WRONG_TARGET' })
    expect(await everything()).toEqual([{ actors: '0', workers: '0', queues: '0', jobs: null }])
  })

  it('so are many, in several chunks', async () => {
    const client = await clientOn(database(), pins())
    const payloads = Array.from({ length: 6000 }, () => ({}))
    await expect(client.enqueueMany(anything(), payloads)).rejects.toMatchObject({ code: 'WRONG_TARGET' })
    expect(await everything()).toEqual([{ actors: '0', workers: '0', queues: '0', jobs: null }])
  })

  it('so is one in a transaction of the caller’s, which stays usable', async () => {
    const client = await clientOn(database(), pins())
    const tx = await database().client()
    await tx.query('begin')
    await expect(client.enqueue(anything(), {}, { tx })).rejects.toMatchObject({ code: 'WRONG_TARGET' })
    await tx.query('create table kept ()')
    await tx.query('commit')
    await database().rows('drop table kept')
    expect(await snapshot(database())).toEqual([])
  })

  it('a worker ends before it claims, promotes or says that it is there', async () => {
    await insertJobs(database(), pendingJob(), 3)
    await insertJobs(database(), scheduledJob({ due: true }), 3)
    const before = await everything()
    const settings = settingsWith({ ...database().settings, ...pins() })
    const worker = await runWorker({ actors, settings, report })
    await expect(worker.done).rejects.toMatchObject({ code: 'WRONG_TARGET' })
    expect((await worker.health()).worker.state).toBe('stopped')
    expect(await everything()).toEqual(before)
  })

  it('so does one in a Lambda, whose invocation fails and leaves nothing running', async () => {
    await insertJobs(database(), pendingJob(), 3)
    const before = await everything()
    const settings = settingsWith({ ...database().settings, ...pins() })
    const handler = createWorkerHandler({ actors, settings, report })
    const timers = () => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
    const timersBefore = timers()
    const invoked = handler({}, { getRemainingTimeInMillis: () => 600_000 })
    await expect(invoked).rejects.toMatchObject({ code: 'WRONG_TARGET' })
    expect(timers()).toBeLessThanOrEqual(timersBefore)
    expect(await everything()).toEqual(before)
  })
})

it('with its own pins a client enqueues and a worker works', async () => {
  const client = await clientOn(database(), own)
  const { id } = await client.enqueue(anything(), {})
  await workerOn(database(), [anything().run(async () => undefined)], { settings: own })
  await expect.poll(async () => (await client.getJob(id))?.status).toBe('succeeded')
})
