import { beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { defineActor, type TaskQClient } from '../../../functions/entry/client.ts'
import { jsonDepthMax } from '../../../shared/client/json-text.ts'
import { useDatabase } from '../../support/database.ts'
import { anything, clientOn, closesWorkers } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()
let taskq: TaskQClient

beforeEach(async () => {
  taskq = await clientOn(database())
  await database().rows('truncate taskq.jobs, taskq.actors cascade')
})

const jobs = (text = '*', order = 'scheduled_at, id') =>
  database().rows<Record<string, unknown>>(`select ${text} from taskq.jobs order by ${order}`)

const receipt = defineActor({
  name: 'send-receipt',
  queue: 'mail',
  payload: z.object({ n: z.number() }),
  retry: { backoff: 'linear', base: '5s', cap: '10m', jitter: 0, maxAttempts: 8, kind: 'indefinite' },
})

describe('an enqueued job', () => {
  it('has what its actor defines, and its actor a row', async () => {
    const { id, created } = await taskq.enqueue(receipt, { n: 1 })
    expect(created).toBe(true)
    expect(await jobs()).toMatchObject([
      {
        id,
        queue: 'mail',
        actor: 'send-receipt',
        status: 'pending',
        payload: { n: 1 },
        priority: 0,
        attempt: 0,
        max_attempts: 8,
        retry_kind: 'indefinite',
        retry_backoff: 'linear',
        retry_base: { seconds: 5 },
        retry_cap: { minutes: 10 },
        retry_jitter: 0,
      },
    ])
    expect(await database().rows('select * from taskq.actors')).toMatchObject([
      { actor: 'send-receipt', queue: 'mail', max_attempts: 8, retry_kind: 'indefinite', retry_jitter: 0 },
    ])
  })

  it('has every option that was given', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await taskq.enqueue(
      receipt,
      { n: 1 },
      {
        queue: 'slow',
        delay: '90s',
        priority: 7,
        idempotencyKey: 'k',
        idempotencyScope: 's',
        scheduleToClose: '1h',
        startToClose: '30s',
        heartbeatTimeout: '15s',
        tags: ['b', 'a'],
        metadata: { by: 'test' },
        fairnessKey: 'tenant',
        traceparent,
      },
    )
    const found = await jobs(`*, scheduled_at - created_at as delay, schedule_to_close - created_at as close,
      first_due_at = scheduled_at and unclaimed_since = first_due_at as waits_since_due`)
    expect(found).toMatchObject([
      {
        status: 'scheduled',
        queue: 'slow',
        priority: 7,
        idempotency_key: 'k',
        idempotency_scope: 's',
        start_to_close: { seconds: 30 },
        heartbeat_timeout: { seconds: 15 },
        tags: ['b', 'a'],
        metadata: { by: 'test' },
        fairness_key: 'tenant',
        traceparent,
        delay: { minutes: 1, seconds: 30 },
        close: { hours: 1 },
        waits_since_due: true,
      },
    ])
  })

  it('is due now where its instant has passed, by the clock of the database', async () => {
    await taskq.enqueue(receipt, { n: 1 }, { runAt: new Date('2001-01-01') })
    await taskq.enqueue(receipt, { n: 2 }, { runAt: new Date('2101-01-01') })
    await taskq.enqueue(receipt, { n: 3 }, { delay: '0' })
    expect(await jobs(`payload->'n' as n, status::text`, 'id')).toEqual([
      { n: 1, status: 'pending' },
      { n: 2, status: 'scheduled' },
      { n: 3, status: 'pending' },
    ])
  })

  it('of a bare name has what the actor row says, the first definition of it included', async () => {
    await taskq.enqueue(receipt, { n: 1 })
    await taskq.enqueue('send-receipt', { anything: true })
    expect(await jobs('queue, max_attempts, retry_kind, retry_jitter')).toEqual([
      { queue: 'mail', max_attempts: 8, retry_kind: 'indefinite', retry_jitter: 0 },
      { queue: 'mail', max_attempts: 8, retry_kind: 'indefinite', retry_jitter: 0 },
    ])
  })

  it('of a name that nobody defined is refused', async () => {
    const refused = taskq.enqueue('nobody', {})
    await expect(refused).rejects.toMatchObject({ code: 'ACTOR_UNKNOWN', field: 'actor' })
    expect(await jobs()).toEqual([])
  })

  it('can be read', async () => {
    const { id } = await taskq.enqueue(receipt, { n: 1 }, { tags: ['t'] })
    expect(await taskq.getJob(id)).toMatchObject({ id, status: 'pending', payload: { n: 1 }, tags: ['t'] })
    expect(await taskq.getJob('00000000-0000-4000-8000-000000000000')).toBeUndefined()
    await expect(taskq.getJob('7')).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'id' })
  })
})

describe('many jobs of one call', () => {
  it('are answered and run in the order given, ids and due times ascending together', async () => {
    const payloads = Array.from({ length: 12_000 }, (_, n) => ({ n }))
    const answers = await taskq.enqueueMany(receipt, payloads)
    const stored = await jobs(`id, (payload->>'n')::int as n`)
    expect(stored.map(({ id, n }) => [id, n])).toEqual(answers.map(({ id }, n) => [id, n]))
    expect(answers.map(({ id }) => id).toSorted()).toEqual(answers.map(({ id }) => id))
    const [distinct] = await database().rows('select count(distinct scheduled_at)::int as n from taskq.jobs')
    // Chunks have each their own stamp; within one, every row has its own microsecond.
    expect(distinct).toEqual({ n: 12_000 })
  })

  it('of no payload are no statement', async () => {
    expect(await taskq.enqueueMany(receipt, [])).toEqual([])
  })

  it('are stored all or none: a wrong last payload stores nothing', async () => {
    const refused = taskq.enqueueMany(receipt, [{ n: 1 }, { n: 'x' as never }])
    await expect(refused).rejects.toMatchObject({ field: 'payloads[1].n' })
    expect(await jobs()).toEqual([])
  })
})

describe('a payload', () => {
  it('of exactly the limit is stored, in bytes; one more is refused', async () => {
    const limit = await clientOn(database(), { payloadMaxBytes: 1_048_576 })
    const payload = 'é'.repeat((1_048_576 - 2) / 2)
    await limit.enqueue(anything(), payload)
    await expect(limit.enqueue(anything(), `${payload}a`)).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      field: 'payload',
    })
    expect(await jobs(`octet_length(payload::text) as bytes`)).toEqual([{ bytes: 1_048_576 }])
  })

  it.each([
    ['NUL in a value', { a: ['\u0000'] }, 'TEXT_INVALID', 'payload.a[0]'],
    ['NUL in a key', { a: { 'b\u0000': 1 } }, 'TEXT_INVALID', 'payload.a'],
    ['half a surrogate pair', { a: '\ud800' }, 'TEXT_INVALID', 'payload.a'],
    ['a BigInt', { a: 1n }, 'PAYLOAD_INVALID', 'payload'],
    ['undefined', undefined, 'PAYLOAD_INVALID', 'payload'],
  ])('with %s is refused before anything is sent (B073)', async (_name, payload, code, field) => {
    await expect(taskq.enqueue(anything(), payload)).rejects.toMatchObject({ code, field })
    expect(await jobs()).toEqual([])
  })

  it('that only looks as if it held NUL is stored as it is', async () => {
    const payload = { a: '\\u0000', b: '\\\\u0000', c: '\u0001😀', 'k\\u0000': null }
    const { id } = await taskq.enqueue(anything(), payload)
    expect((await taskq.getJob(id))?.payload).toEqual(payload)
  })

  it('may be nested as deep as the client accepts, and then settled as a result too', async () => {
    const deep = Array.from({ length: jsonDepthMax }).reduce(inner => [inner], 0)
    const { id } = await taskq.enqueue(anything(), deep)
    expect((await taskq.getJob(id))?.payload).toEqual(deep)
  })

  it.each([null, 0, false, '', [], {}])('may be %j', async payload => {
    const { id } = await taskq.enqueue(anything(), payload)
    expect((await taskq.getJob(id))?.payload).toEqual(payload)
  })
})
