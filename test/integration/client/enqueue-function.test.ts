import { beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import { anything, clientOn, closesWorkers } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()

beforeEach(async () => {
  await database().rows('truncate taskq.jobs, taskq.actors cascade')
  await database().rows(`insert into taskq.actors (actor, queue, max_attempts) values ('test', 'mail', 9)`)
})

const enqueue = (args: string, values: unknown[] = []) =>
  database().rows<{ id: string; created: boolean }>(`select id, created from taskq.enqueue(${args})`, values)
const jobs = (text: string) =>
  database().rows<Record<string, unknown>>(`select ${text} from taskq.jobs order by id`)

describe('the SQL function enqueue', () => {
  it('stores a job with what the actor defines', async () => {
    const [answer] = await enqueue(`'test', '{"a": 1}'`)
    expect(answer?.created).toBe(true)
    expect(await jobs('id, queue, actor, payload, max_attempts, status::text')).toEqual([
      { id: answer?.id, queue: 'mail', actor: 'test', payload: { a: 1 }, max_attempts: 9, status: 'pending' },
    ])
  })

  it('takes every option by name', async () => {
    await enqueue(`'test', '1', queue => 'slow', delay => '5 minutes', priority => 3, idempotency_key => 'k',
      idempotency_scope => 's', schedule_to_close => '1 hour', start_to_close => '30 s',
      heartbeat_timeout => '10 s', tags => '{a,b}', metadata => '{"x": null}', traceparent => 't'`)
    const found =
      await jobs(`queue, priority, idempotency_key, idempotency_scope, tags, metadata, traceparent,
      status::text, scheduled_at - created_at as delay, schedule_to_close - created_at as close,
      start_to_close, heartbeat_timeout`)
    expect(found).toMatchObject([
      {
        queue: 'slow',
        priority: 3,
        idempotency_key: 'k',
        idempotency_scope: 's',
        tags: ['a', 'b'],
        metadata: { x: null },
        traceparent: 't',
        status: 'scheduled',
        delay: { minutes: 5 },
        close: { hours: 1 },
        start_to_close: { seconds: 30 },
        heartbeat_timeout: { seconds: 10 },
      },
    ])
  })

  it('is stored with the data of its transaction, or not at all', async () => {
    const client = await database().client()
    await client.query('begin')
    await client.query(`select taskq.enqueue('test', '1')`)
    await client.query('rollback')
    expect(await jobs('id')).toEqual([])
  })

  it('raises TQ001 where the actor is unknown', async () => {
    await expect(enqueue(`'nobody', '1'`)).rejects.toMatchObject({ code: 'TQ001', message: /"nobody"/ })
  })

  it.each([
    ['payload', `'test', null`],
    ['queue', `'test', '1', queue => ''`],
    ['queue', `'test', '1', queue => repeat('q', 256)`],
    ['run_at', `'test', '1', delay => '1 s', run_at => now()`],
    ['run_at', `'test', '1', run_at => 'infinity'`],
    ['delay', `'test', '1', delay => '-5 minutes'`],
    ['idempotency_key', `'test', '1', idempotency_key => ''`],
    ['schedule_to_close', `'test', '1', schedule_to_close => '-1 s'`],
    ['start_to_close', `'test', '1', start_to_close => '0'`],
    ['heartbeat_timeout', `'test', '1', heartbeat_timeout => '1 ms'`],
    ['metadata', `'test', '1', metadata => '[1]'`],
    ['tags', `'test', '1', tags => array['a', null]`],
  ])('raises TQ003 that names %s, and stores nothing: %s', async (field, args) => {
    await expect(enqueue(args)).rejects.toMatchObject({ code: 'TQ003', message: new RegExp(`^${field}: `) })
    expect(await jobs('id')).toEqual([])
  })

  it('answers a key with its job, a client’s too, and raises TQ002 for another payload', async () => {
    const taskq = await clientOn(database())
    const { id } = await taskq.enqueue(anything(), { a: 1 }, { idempotencyKey: 'k' })
    expect(await enqueue(`'test', '{"a": 1}', idempotency_key => 'k'`)).toEqual([{ id, created: false }])
    await expect(enqueue(`'test', '{"a": 2}', idempotency_key => 'k'`)).rejects.toMatchObject({
      code: 'TQ002',
    })
    expect(await jobs('id')).toEqual([{ id }])
  })

  it('repeated with the same id stores nothing new and answers the same', async () => {
    const id = '01997f3a-6c1e-7000-9b5c-3d1f0a7c2e44'
    expect(await enqueue(`'test', '1', job_id => $1`, [id])).toEqual([{ id, created: true }])
    expect(await enqueue(`'test', '1', job_id => $1`, [id])).toEqual([{ id, created: true }])
    expect(await jobs('id')).toEqual([{ id }])
  })

  it('waits for a key that an open transaction holds no longer than its lock timeout', async () => {
    const holder = await database().client()
    await holder.query('begin')
    await holder.query(`select taskq.enqueue('test', '1', idempotency_key => 'k')`)
    await expect(enqueue(`'test', '1', idempotency_key => 'k'`)).rejects.toMatchObject({ code: '55P03' })
    await holder.query('rollback')
  })
})
