import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TaskQClient } from '../../../functions/entry/client.ts'
import { useDatabase } from '../../support/database.ts'
import { anything, clientOn, closesWorkers } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()
let taskq: TaskQClient
let tx: pg.Client
const actor = anything()

beforeEach(async () => {
  taskq = await clientOn(database())
  await database().rows('drop table if exists orders; truncate taskq.jobs, taskq.actors cascade')
  await database().rows('create table orders (id int)')
  tx = await database().client()
  await tx.query('begin')
  await tx.query('insert into orders values (1)')
})

// A test that failed half-way must not keep the next one's tables locked.
afterEach(() => tx.query('rollback'))

const stored = async () =>
  (
    await database().rows(
      'select (select count(*) from orders)::int as orders, (select count(*) from taskq.jobs)::int as jobs',
    )
  )[0]

describe("a job in the caller's transaction", () => {
  it('commits with the data of the caller', async () => {
    await taskq.enqueue(actor, { n: 1 }, { tx })
    expect(await stored()).toEqual({ orders: 0, jobs: 0 })
    await tx.query('commit')
    expect(await stored()).toEqual({ orders: 1, jobs: 1 })
  })

  it('is gone when the caller rolls back', async () => {
    await taskq.enqueueMany(actor, [{ n: 1 }, { n: 2 }], { tx })
    await tx.query('rollback')
    expect(await stored()).toEqual({ orders: 0, jobs: 0 })
  })

  it('leaves no setting behind, neither of the transaction nor of the session (B004, B005)', async () => {
    // Those of plpgsql show once its library is loaded.
    const text = `select name, setting from pg_settings where name not like 'plpgsql.%' order by name`
    const settings = async () => (await tx.query(text)).rows
    await tx.query(`set local lock_timeout = '7s'; set local statement_timeout = '8s'`)
    const before = await settings()
    await taskq.enqueue(actor, { n: 1 }, { tx, idempotencyKey: 'k' })
    await taskq.enqueueMany(actor, [{ n: 1 }, { n: 2 }], { tx, idempotencyKey: ({ n }) => `m${n}` })
    expect(await settings()).toEqual(before)
    await tx.query('commit')
  })

  it.each<[string, () => Promise<unknown>, string]>([
    ['an invalid payload', () => taskq.enqueue(actor, 1n, { tx }), 'PAYLOAD_INVALID'],
    ['NUL', () => taskq.enqueue(actor, '\u0000', { tx }), 'TEXT_INVALID'],
    ['a payload too large', () => taskq.enqueue(actor, 'a'.repeat(300_000), { tx }), 'PAYLOAD_TOO_LARGE'],
    ['an invalid option', () => taskq.enqueue(actor, 1, { tx, delay: '5' as never }), 'OPTION_INVALID'],
    ['an unknown actor', () => taskq.enqueue('nobody', 1, { tx }), 'ACTOR_UNKNOWN'],
    ['a conflict', () => taskq.enqueue(actor, 2, { tx, idempotencyKey: 'taken' }), 'IDEMPOTENCY_CONFLICT'],
    [
      'a conflict of one among many',
      () => taskq.enqueueMany(actor, [1, 2], { tx, idempotencyKey: n => (n === 1 ? 'new' : 'taken') }),
      'IDEMPOTENCY_CONFLICT',
    ],
  ])(
    'is refused for %s without harm to the transaction, and nothing is stored',
    async (_name, refused, code) => {
      await taskq.enqueue(actor, 1, { idempotencyKey: 'taken' })
      await expect(refused()).rejects.toMatchObject({ code })
      await tx.query('commit')
      expect(await stored()).toEqual({ orders: 1, jobs: 1 })
    },
  )

  it('of many chunks is taken back whole when a late one is refused', async () => {
    await taskq.enqueue(actor, { n: 'other' }, { idempotencyKey: 'k5500' })
    const payloads = Array.from({ length: 6000 }, (_, n) => ({ n }))
    const refused = taskq.enqueueMany(actor, payloads, { tx, idempotencyKey: ({ n }) => `k${n}` })
    await expect(refused).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
    await tx.query('commit')
    expect(await stored()).toEqual({ orders: 1, jobs: 1 })
  })

  it('may share its transaction with jobs of other calls, order kept', async () => {
    const ids: string[] = []
    for (const n of [1, 2, 3]) ids.push((await taskq.enqueue(actor, n, { tx })).id)
    await tx.query('commit')
    const found = await database().rows<{ id: string }>('select id from taskq.jobs order by scheduled_at, id')
    expect(found.map(({ id }) => id)).toEqual(ids)
  })

  it('is refused where tx is no transaction of one connection', async () => {
    await expect(taskq.enqueue(actor, 1, { tx: {} as never })).rejects.toMatchObject({ field: 'tx' })
    const autocommits = await database().client()
    const outside = taskq.enqueueMany(actor, [1, 2], { tx: autocommits, idempotencyKey: String })
    await expect(outside).rejects.toThrow(/SAVEPOINT can only be used in transaction blocks/)
    await tx.query('rollback')
    expect(await stored()).toEqual({ orders: 0, jobs: 0 })
  })

  it('costs one statement', async () => {
    const texts: string[] = []
    const counted = {
      query: (text: string, values: unknown[]) => {
        texts.push(text)
        return tx.query(text, values)
      },
    }
    await taskq.enqueue(actor, 1, { tx: counted })
    await taskq.enqueueMany(actor, [1, 2], { tx: counted })
    expect(texts).toHaveLength(2)
    await tx.query('rollback')
  })
})
