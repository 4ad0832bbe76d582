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

describe('the session of a health check', () => {
  it('is one for all who ask at once, and closed with the answer', async () => {
    const worker = await workerOn(database(), [actor.run(() => 1)])
    const locker = await database().client()
    await locker.query('begin; lock table taskq.sweep_state in access exclusive mode')
    const asked = Array.from({ length: 20 }, () => worker.health())
    await expect.poll(() => sessionsOf('taskq-status')).toBe(1)
    await locker.query('rollback')
    await Promise.all(asked)
    await expect.poll(() => sessionsOf('taskq-status')).toBe(0)
  })

  it('is not opened before somebody asks', async () => {
    await workerOn(database(), [actor.run(() => 1)])
    await expect.poll(() => sessionsOf('taskq-worker')).toBeGreaterThan(0)
    expect(await sessionsOf('taskq-status')).toBe(0)
  })
})
