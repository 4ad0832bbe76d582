import { beforeEach, describe, expect, it } from 'vitest'
import { createClient, type TaskQClient } from '../../../functions/entry/client.ts'
import { useDatabase } from '../../support/database.ts'
import { settingsWith } from '../../support/sweeping.ts'
import { anything, clientOn, closesWorkers } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()
let taskq: TaskQClient
const actor = anything()

beforeEach(async () => {
  taskq = await clientOn(database())
  await database().rows('truncate taskq.jobs, taskq.actors cascade')
})

const ofClients = `application_name = 'taskq-client' and datname = current_database()`
const count = async () =>
  (await database().rows<{ n: number }>('select count(*)::int as n from taskq.jobs'))[0]?.n

describe('the connections of a client', () => {
  it('may be ended by the server at any time: the next call succeeds', async () => {
    for (const n of [1, 2, 3]) {
      await Promise.all([taskq.enqueue(actor, n), taskq.enqueue(actor, -n)])
      await database().rows(`select pg_terminate_backend(pid) from pg_stat_activity where ${ofClients}`)
    }
    expect((await taskq.enqueue(actor, 4)).created).toBe(true)
    expect(await count()).toBe(7)
  })

  it('may be ended under calls in flight: each is stored once, by the id made for it', async () => {
    const calls = Array.from({ length: 200 }, (_, n) => taskq.enqueue(actor, n))
    const killed = database().rows(
      `select pg_terminate_backend(pid) from pg_stat_activity where ${ofClients}`,
    )
    const answers = await Promise.all([...calls, killed].slice(0, calls.length))
    expect(new Set((answers as { id: string }[]).map(answer => answer.id)).size).toBe(200)
    expect(await count()).toBe(200)
    const [distinct] = await database().rows('select count(distinct payload)::int as n from taskq.jobs')
    expect(distinct).toEqual({ n: 200 })
  })

  it('take nothing any more after close, which waits for what is under way', async () => {
    const inFlight = taskq.enqueue(actor, 1)
    await taskq.close()
    expect((await inFlight).created).toBe(true)
    await expect(taskq.enqueue(actor, 1)).rejects.toMatchObject({ code: 'USAGE', message: /closed/ })
  })
})

describe('a call that cannot be answered', () => {
  it('for want of a database is DATABASE_UNREACHABLE, and names no password (B075)', async () => {
    const url = new URL(database().url)
    url.port = '1'
    url.password = 'secret-password'
    const settings = settingsWith({ ...database().settings, databaseUrl: url.href, connectTimeout: 1000 })
    await using unreachable = await createClient({ settings })
    const error = await unreachable.enqueue(actor, 1).catch(thrown => thrown)
    expect(error).toMatchObject({ code: 'DATABASE_UNREACHABLE' })
    expect(error.message).not.toContain('secret-password')
  })

  it('for want of a schema is NOT_MIGRATED', async () => {
    const elsewhere = await clientOn(database(), { schemaName: 'elsewhere' })
    await expect(elsewhere.enqueue(actor, 1)).rejects.toMatchObject({ code: 'NOT_MIGRATED' })
    await expect(elsewhere.enqueueMany(actor, [1, 2], { idempotencyKey: String })).rejects.toMatchObject({
      code: 'NOT_MIGRATED',
    })
    await expect(elsewhere.getJob('00000000-0000-4000-8000-000000000000')).rejects.toMatchObject({
      code: 'NOT_MIGRATED',
    })
  })

  it('in a transaction of ours, for another installation than is pinned, is WRONG_TARGET (C29)', async () => {
    const installationId = '00000000-0000-4000-8000-000000000000'
    const pinned = await clientOn(database(), { installationId })
    await expect(pinned.enqueueMany(actor, [1, 2], { idempotencyKey: String })).rejects.toMatchObject({
      code: 'WRONG_TARGET',
    })
    expect(await count()).toBe(0)
  })
})
