import { beforeEach, describe, expect, it } from 'vitest'
import type { TaskQClient } from '../../../functions/entry/client.ts'
import { useDatabase } from '../../support/database.ts'
import { clientOver } from '../../support/over-queryable.ts'
import { anything, clientOn, closesWorkers } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()
let taskq: TaskQClient
const actor = anything()

beforeEach(async () => {
  taskq = await clientOn(database())
  await database().rows('truncate taskq.jobs, taskq.actors cascade')
})

const count = async () =>
  (await database().rows<{ n: number }>('select count(*)::int as n from taskq.jobs'))[0]?.n

/** Resolves once some backend waits for a lock. */
const somebodyWaits = () =>
  expect
    .poll(async () => {
      const [row] = await database().rows<{ n: number }>(
        `select count(*)::int as n from pg_stat_activity
         where wait_event_type = 'Lock' and datname = current_database()`,
      )
      return row?.n
    })
    .toBe(1)

describe('an idempotency key', () => {
  it('is answered with the first job, whatever the order of its keys', async () => {
    const first = await taskq.enqueue(actor, { a: 1, b: [2] }, { idempotencyKey: 'k' })
    const second = await taskq.enqueue(actor, { b: [2], a: 1 }, { idempotencyKey: 'k' })
    expect([first.created, second]).toEqual([true, { id: first.id, created: false }])
    expect(await count()).toBe(1)
  })

  it('with another payload is a conflict that names the job, and stores nothing (C16)', async () => {
    const { id } = await taskq.enqueue(actor, { a: 1 }, { idempotencyKey: 'k' })
    await expect(taskq.enqueue(actor, { a: 2 }, { idempotencyKey: 'k' })).rejects.toMatchObject({
      name: 'IdempotencyConflictError',
      code: 'IDEMPOTENCY_CONFLICT',
      field: 'idempotencyKey',
      existingId: id,
    })
    expect(await count()).toBe(1)
  })

  it('holds whatever the actor, and in its scope alone', async () => {
    const { id } = await taskq.enqueue(actor, {}, { idempotencyKey: 'k' })
    expect(await taskq.enqueue(anything('other'), {}, { idempotencyKey: 'k' })).toEqual({
      id,
      created: false,
    })
    const scoped = await taskq.enqueue(actor, {}, { idempotencyKey: 'k', idempotencyScope: 's' })
    expect(scoped.created).toBe(true)
  })

  it('holds while the row is there, whatever its state', async () => {
    const { id } = await taskq.enqueue(actor, {}, { idempotencyKey: 'k' })
    await database().rows(`update taskq.jobs set status = 'failed', finished_at = now()`)
    expect(await taskq.enqueue(actor, {}, { idempotencyKey: 'k' })).toEqual({ id, created: false })
    await database().rows('delete from taskq.jobs')
    expect((await taskq.enqueue(actor, {}, { idempotencyKey: 'k' })).created).toBe(true)
  })

  it('may be as long as the limit in bytes, whatever they hold (B116)', async () => {
    const largest = await clientOn(database(), { idempotencyKeyMaxBytes: 1300 })
    const key = Array.from({ length: 1300 }, (_, n) => String.fromCharCode(33 + ((n * 7919) % 94))).join('')
    const scope = key.slice(0, 255)
    expect((await largest.enqueue(actor, {}, { idempotencyKey: key, idempotencyScope: scope })).created).toBe(
      true,
    )
    await expect(taskq.enqueue(actor, {}, { idempotencyKey: key })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      field: 'idempotencyKey',
    })
  })

  it('shared by two payloads of one call is one job, or a conflict that stores none of them', async () => {
    const key = { idempotencyKey: () => 'k' }
    const [first, second] = await taskq.enqueueMany(actor, [{ a: 1 }, { a: 1 }], key)
    expect([first?.created, second?.created, first?.id === second?.id]).toEqual([true, false, true])
    const other = { idempotencyKey: ({ k }: { k: string }) => k }
    const refused = taskq.enqueueMany(actor, [{ k: 'new' }, { k: 'k' }], other)
    await expect(refused).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
    expect(await count()).toBe(1)
  })
})

describe('two callers with one key', () => {
  it('wait for each other: after the first commits, the second is answered with its job', async () => {
    const holder = await database().client()
    await holder.query('begin')
    const { id } = await taskq.enqueue(actor, { a: 1 }, { tx: holder, idempotencyKey: 'k' })
    const waits = await clientOn(database(), { batchLockTimeoutMs: 5000 })
    const second = waits.enqueue(actor, { a: 1 }, { idempotencyKey: 'k' })
    await somebodyWaits()
    await holder.query('commit')
    expect(await second).toEqual({ id, created: false })
  })

  it('wait for each other: after the first rolls back, the second is the first', async () => {
    const holder = await database().client()
    await holder.query('begin')
    await taskq.enqueue(actor, { a: 1 }, { tx: holder, idempotencyKey: 'k' })
    const waits = await clientOn(database(), { batchLockTimeoutMs: 5000 })
    const second = waits.enqueue(actor, { a: 2 }, { idempotencyKey: 'k' })
    await somebodyWaits()
    await holder.query('rollback')
    expect(await second).toMatchObject({ created: true })
  })

  it('wait no longer than the lock timeout (B096)', async () => {
    const holder = await database().client()
    await holder.query('begin')
    await taskq.enqueue(actor, { a: 1 }, { tx: holder, idempotencyKey: 'k' })
    const brief = await clientOn(database(), { batchLockTimeoutMs: 10 })
    await expect(brief.enqueue(actor, { a: 1 }, { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
    })
    await holder.query('rollback')
    expect(await count()).toBe(0)
  })

  it('of fifty at once exactly one creates the job, and all are answered with it', async () => {
    const many = await clientOn(database(), { batchLockTimeoutMs: 5000 })
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => many.enqueue(actor, { a: 1 }, { idempotencyKey: 'k' })),
    )
    expect(answers.filter(answer => answer.created)).toHaveLength(1)
    expect(new Set(answers.map(answer => answer.id)).size).toBe(1)
    expect(await count()).toBe(1)
  })
})

describe('a repeated call whose first reply was lost', () => {
  it('is answered as created, and has stored one job', async () => {
    let statements = 0
    const client = await database().client()
    const losesFirstReply = {
      query: async (text: string, values: unknown[]) => {
        const result = await client.query(text, values)
        if (text.includes('insert_jobs') && ++statements === 1)
          throw Object.assign(new Error('reset'), { code: '08006' })
        return result
      },
    }
    const taskqOver = clientOver(losesFirstReply)
    expect(await taskqOver.enqueue(actor, { a: 1 })).toMatchObject({ created: true })
    expect([statements, await count()]).toEqual([2, 1])
  })
})
