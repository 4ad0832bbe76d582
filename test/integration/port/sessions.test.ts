import { beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import { anything, clientOn, closesWorkers, vitalsOf, workerOn } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()
const actor = anything()

beforeEach(() => database().rows('truncate taskq.jobs, taskq.actors cascade'))

const sessionsOf = async (application: string) =>
  (
    await database().rows(
      `select pid from pg_stat_activity where application_name = $1 and datname = current_database()`,
      [application],
    )
  ).length

describe('the sessions of a client', () => {
  it('are opened when first needed, one for calls in turn and four at most', async () => {
    const taskq = await clientOn(database())
    expect(await sessionsOf('taskq-client')).toBe(0)
    await taskq.enqueue(actor, 1)
    await taskq.enqueue(actor, 2)
    expect(await sessionsOf('taskq-client')).toBe(1)
    await Promise.all(Array.from({ length: 40 }, (_, n) => taskq.enqueue(actor, n)))
    expect(await sessionsOf('taskq-client')).toBe(4)
  })

  it('are all closed by close', async () => {
    const taskq = await clientOn(database())
    await taskq.enqueue(actor, 1)
    await taskq.close()
    await expect.poll(() => sessionsOf('taskq-client')).toBe(0)
  })
})

describe('the sessions of a worker', () => {
  it('are all closed when it has stopped (B063)', async () => {
    const worker = await workerOn(database(), [actor.run(() => 1)])
    await expect.poll(() => vitalsOf(worker)).toMatchObject({ found: 'empty' })
    await worker.stop()
    await expect.poll(() => sessionsOf('taskq-worker')).toBe(0)
  })
})
