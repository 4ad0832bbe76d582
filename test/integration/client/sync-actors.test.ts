import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { defineActor } from '../../../functions/entry/client.ts'
import type { Actor } from '../../../shared/client/define-actor.ts'
import { syncActors } from '../../../shared/client/sync-actors.ts'
import type { Settings } from '../../../shared/core/read-settings.ts'
import { useDatabase } from '../../support/database.ts'
import { settingsWith } from '../../support/sweeping.ts'
import { anything, clientOn, closesWorkers } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()

beforeEach(async () => {
  await database().rows('truncate taskq.jobs, taskq.actors, taskq.queues cascade')
})

const sync = async (actors: readonly Actor[], changed: Partial<Settings> = {}) =>
  syncActors(await database().connect(), actors, settingsWith(changed))

const rows = (table: 'actors' | 'queues') =>
  database().rows<Record<string, unknown>>(`select * from taskq.${table} order by 1`)

/** Where each row lies and who last touched it: a row that was only locked differs, too. */
const places = () =>
  database().rows('select actor, ctid::text, xmin::text, xmax::text from taskq.actors order by 1')

const receipt = defineActor({
  name: 'send-receipt',
  queue: 'mail',
  payload: z.any(),
  retry: { backoff: 'linear', base: '500ms', cap: '10m', jitter: 0, maxAttempts: 8, kind: 'indefinite' },
})

describe('sync', () => {
  it('stores what is defined, and the queues that it names', async () => {
    expect(await sync([receipt, anything('print', 'paper'), anything('fax', 'paper')])).toEqual({
      schema: 'taskq',
      created: ['fax', 'print', 'send-receipt'],
      changed: [],
      unchanged: 0,
    })
    const stored = (await rows('actors')).find(({ actor }) => actor === 'send-receipt')
    expect(stored).toMatchObject({
      queue: 'mail',
      max_attempts: 8,
      retry_kind: 'indefinite',
      retry_backoff: 'linear',
      retry_base: { milliseconds: 500 },
      retry_cap: { minutes: 10 },
      retry_jitter: 0,
    })
    expect((await rows('queues')).map(({ name }) => name)).toEqual(['mail', 'paper'])
  })

  it('stores what the first enqueue would have stored', async () => {
    const taskq = await clientOn(database())
    await taskq.enqueue(receipt, {})
    expect(await sync([receipt])).toMatchObject({ created: [], changed: [], unchanged: 1 })
  })

  it('changes rows that differ, and does not as much as lock the others', async () => {
    await sync([receipt, anything('print'), anything('fax')])
    const before = await places()
    const changed = [
      defineActor({ name: 'print', queue: 'paper', payload: z.any(), retry: { maxAttempts: 2 } }),
    ]
    expect(await sync([receipt, ...changed, anything('fax')])).toMatchObject({
      created: [],
      changed: ['print'],
      unchanged: 2,
    })
    const touched = (await places()).filter(
      (row, index) => JSON.stringify(row) !== JSON.stringify(before[index]),
    )
    expect(touched).toMatchObject([{ actor: 'print' }])
    expect(await rows('actors')).toMatchObject([{}, { actor: 'print', queue: 'paper', max_attempts: 2 }, {}])
  })

  it.each([
    'queue',
    'max_attempts',
    'retry_kind',
    'retry_backoff',
    'retry_base',
    'retry_cap',
    'retry_jitter',
  ])('notices a difference in %s alone', async column => {
    await sync([receipt])
    const [stored] = await rows('actors')
    await database().rows(`update taskq.actors set ${column} = other.${column}
        from (select 'other' as queue, 3 as max_attempts, 'transient' as retry_kind, 'fixed' as retry_backoff,
          interval '1 second' as retry_base, interval '1 minute' as retry_cap, 0.5 as retry_jitter) as other`)
    expect(await sync([receipt])).toMatchObject({ changed: ['send-receipt'] })
    expect(await rows('actors')).toEqual([stored])
  })

  it('keeps what an operator set, and deletes nothing', async () => {
    await sync([receipt, anything('gone')])
    await database().rows(`update taskq.actors
      set paused = true, max_concurrent = 3, metadata = '{"by": "ada"}'
      where actor = 'send-receipt'`)
    await database().rows(`update taskq.queues set paused_at = now(), paused_by = 'ada' where name = 'mail'`)
    const [queue] = (await rows('queues')).filter(({ name }) => name === 'mail')
    await sync([defineActor({ name: 'send-receipt', queue: 'mail', payload: z.any() })])
    expect(await rows('actors')).toMatchObject([
      { actor: 'gone' },
      { actor: 'send-receipt', max_attempts: 5, paused: true, max_concurrent: 3, metadata: { by: 'ada' } },
    ])
    expect(await rows('queues')).toContainEqual(queue)
  })

  it('of nothing is nothing', async () => {
    expect(await sync([])).toEqual({ schema: 'taskq', created: [], changed: [], unchanged: 0 })
  })

  it('ten times at once stores each actor once, and nobody fails', async () => {
    const actors = Array.from({ length: 20 }, (_, index) => anything(`actor-${index}`, `queue-${index % 3}`))
    await Promise.all(Array.from({ length: 10 }, () => sync(actors)))
    expect(await rows('actors')).toHaveLength(20)
  })

  describe('beside an open transaction that stores an actor', () => {
    const waiting = () =>
      database().rows(`select from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock' and query ~ 'jsonb_to_recordset'`)

    it.each(['actors (actor)', 'queues (name)'])('holds nothing while it waits for %s', async table => {
      const enqueuer = await database().client()
      // The first to look for a deadlock is the one who pays for it.
      await enqueuer.query(`set deadlock_timeout = 1; begin; insert into taskq.${table} values ('a')`)
      const synced = sync([anything('b', 'b'), anything('a', 'a')], { batchLockTimeoutMs: 5000 })
      await expect.poll(waiting).toHaveLength(1)
      // Had it another order than that of the names, each would now wait for the other.
      await enqueuer.query(`insert into taskq.${table} values ('b'); commit`)
      await synced
      expect(await rows('actors')).toMatchObject([
        { actor: 'a', queue: 'a' },
        { actor: 'b', queue: 'b' },
      ])
    })

    it('tries again, and says at last what it waited for', async () => {
      const enqueuer = await database().client()
      await enqueuer.query(`begin; insert into taskq.actors (actor) values ('a')`)
      await expect(sync([anything('a')], { batchLockTimeoutMs: 10 })).rejects.toMatchObject({
        code: 'LOCK_TIMEOUT',
        message: expect.stringContaining('one of the actors'),
      })
      const synced = sync([anything('a')], { batchLockTimeoutMs: 1000 })
      await expect.poll(waiting).toHaveLength(1)
      await enqueuer.query('commit')
      await synced
    })
  })

  it('writes nothing to another installation than the pinned one', async () => {
    await expect(sync([receipt], { installationId: randomUUID() })).rejects.toMatchObject({
      code: 'WRONG_TARGET',
    })
    expect(await rows('actors')).toEqual([])
  })

  it('says of a schema that nobody migrated that it is not', async () => {
    const connection = await database().connect({ schema: 'elsewhere' })
    await expect(syncActors(connection, [receipt], settingsWith())).rejects.toMatchObject({
      code: 'NOT_MIGRATED',
    })
  })
})
