import { beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import {
  defineActor,
  type JobContext,
  NonRetryableError,
  type TaskQClient,
} from '../../../functions/entry/client.ts'
import { useDatabase } from '../../support/database.ts'
import { anything, clientOn, closesWorkers, vitalsOf, workerOn } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()
let taskq: TaskQClient

beforeEach(async () => {
  taskq = await clientOn(database())
  await database().rows(
    'truncate taskq.jobs, taskq.actors, taskq.workers, taskq.queues, taskq.job_events cascade',
  )
})

/** Waits until a job has left `running` and `pending`; then it as it is. */
async function ended(id: string) {
  await expect
    .poll(async () => (await taskq.getJob(id))?.status, { timeout: 20_000, interval: 20 })
    .not.toMatch(/running|pending/)
  return taskq.getJob(id)
}

/** Runs one job by a handler, and answers with what became of it. */
async function resultOf(handler: (payload: unknown, context: JobContext) => unknown, payload: unknown = {}) {
  const actor = anything()
  const { id } = await taskq.enqueue(actor, payload)
  const worker = await workerOn(database(), [actor.run(handler)])
  const job = await ended(id)
  await worker.stop()
  return job
}

describe('a handler', () => {
  it('gets what the schema makes of the payload, and is told about its job', async () => {
    const at = z.codec(z.string(), z.date(), {
      decode: text => new Date(text),
      encode: date => date.toISOString(),
    })
    const actor = defineActor({ name: 'dated', queue: 'mail', payload: z.object({ at }) })
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const { id } = await taskq.enqueue(
      actor,
      { at: '2001-02-03T00:00:00.000Z' },
      { traceparent, tags: ['t'], priority: 4 },
    )
    const called = Promise.withResolvers<[unknown, JobContext]>()
    const worker = await workerOn(database(), [actor.run((...args) => called.resolve(args))])
    const [payload, context] = await called.promise
    expect(payload).toEqual({ at: new Date('2001-02-03') })
    expect(context).toMatchObject({
      id,
      queue: 'mail',
      actor: 'dated',
      attempt: 1,
      maxAttempts: 5,
      priority: 4,
      tags: ['t'],
      traceparent,
    })
    expect([context.scheduledAt, context.startedAt, context.signal.aborted]).toEqual([
      expect.any(Date),
      expect.any(Date),
      false,
    ])
    await worker.stop()
  })

  it('stores what it returns', async () => {
    expect(await resultOf(async () => ({ sent: [1, 'é', null] }))).toMatchObject({
      status: 'succeeded',
      result: { sent: [1, 'é', null] },
    })
  })

  it('that returns nothing has succeeded with null', async () => {
    expect(await resultOf(() => undefined)).toMatchObject({ status: 'succeeded', result: null })
  })

  it('is not called for a payload that no longer fits: the job fails for good, saying where', async () => {
    await taskq.enqueue(anything(), { n: 'secret-value' })
    const strict = defineActor({ name: 'test', payload: z.object({ n: z.number() }) })
    let calls = 0
    const worker = await workerOn(database(), [strict.run(() => calls++)])
    const [{ id = '' } = {}] = await database().rows<{ id: string }>('select id from taskq.jobs')
    const job = await ended(id)
    expect(job).toMatchObject({ status: 'failed', errorClass: 'PayloadInvalid', attempt: 1 })
    expect(job?.errorMessage).toMatch(/^payload\.n: /)
    expect([calls, JSON.stringify(job?.errorMessage)]).toEqual([0, expect.not.stringContaining('secret')])
    await worker.stop()
  })

  it.each<[string, unknown, string]>([
    ['a BigInt', 1n, 'ResultInvalid'],
    ['a function', () => 1, 'ResultInvalid'],
    ['NUL', { a: 'x\u0000' }, 'ResultInvalid'],
    ['half a surrogate pair', ['\ud800'], 'ResultInvalid'],
    ['more than its limit', 'a'.repeat(65_537), 'ResultTooLarge'],
  ])(
    'whose result is %s fails for good instead of doing its work again (B073)',
    async (_name, result, errorClass) => {
      const job = await resultOf(() => result)
      expect(job).toMatchObject({ status: 'failed', errorClass, attempt: 1, result: null })
      expect(job?.errorMessage).toMatch(/^result/)
    },
  )

  it('may return as many bytes as the limit', async () => {
    expect(await resultOf(() => 'a'.repeat(65_534))).toMatchObject({ status: 'succeeded' })
  })

  it('that throws is tried again, what it threw stored with the job and its attempt', async () => {
    const job = await resultOf(() => {
      throw new TypeError('no such order')
    })
    const error = { errorClass: 'TypeError', errorMessage: 'no such order' }
    expect(job).toMatchObject({ status: 'scheduled', attempt: 1, ...error })
    const [attempt] = await database().rows(
      'select outcome, error_class, error_stack from taskq.job_attempts',
    )
    expect(attempt).toEqual({
      outcome: 'failed',
      error_class: 'TypeError',
      error_stack: expect.stringContaining('worker.test.ts'),
    })
  })

  it.each([new NonRetryableError('gone'), Object.assign(new Error('gone'), { retryable: false })])(
    'that says so is not tried again',
    async thrown => {
      expect(await resultOf(() => Promise.reject(thrown))).toMatchObject({
        status: 'failed',
        errorMessage: 'gone',
      })
    },
  )

  it('is called again when its retry is due, until it succeeds', async () => {
    const actor = anything()
    const { id } = await taskq.enqueue(actor, {})
    const worker = await workerOn(database(), [
      actor.run((_payload, { attempt }) => {
        if (attempt < 3) throw new Error(`attempt ${attempt}`)
        return attempt
      }),
    ])
    for (const attempt of [1, 2]) {
      await expect.poll(async () => (await taskq.getJob(id))?.errorMessage).toBe(`attempt ${attempt}`)
      await database().rows(`update taskq.jobs set scheduled_at = now() where status = 'scheduled'`)
    }
    await expect
      .poll(() => taskq.getJob(id))
      .toMatchObject({ status: 'succeeded', attempt: 3, result: 3, errorMessage: null })
    const outcomes = await database().rows('select attempt, outcome from taskq.job_attempts order by attempt')
    expect(outcomes).toEqual([
      { attempt: 1, outcome: 'failed' },
      { attempt: 2, outcome: 'failed' },
      { attempt: 3, outcome: 'succeeded' },
    ])
    await worker.stop()
  })
})

describe('whatever is thrown', () => {
  const hostile = new Proxy(new Error('x'), {
    get: () => {
      throw new Error('a getter that throws')
    },
    getPrototypeOf: () => {
      throw new Error('a prototype that throws')
    },
  })
  const withFields = (fields: object) => Object.assign(new Error('m'), fields)

  it.each<[string, unknown, string | RegExp]>([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a text', 'out of paper', 'out of paper'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an object without a prototype', Object.create(null), 'the thrown value could not be read'],
    ['a hostile proxy', hostile, 'the thrown value could not be read'],
    ['NUL in the message', new Error('a\u0000b'), 'a\\x00b'],
    ['half a surrogate pair', new Error('a\ud800b'), 'a\ufffdb'],
    ['ten megabytes', new Error('x'.repeat(10_000_000)), /^x{4000,4095}…$/],
    ['a stack that is no text', withFields({ stack: { deep: 1 }, name: 7n }), 'm'],
  ])('is stored, mended: %s (B073, B074)', async (_name, thrown, message) => {
    const job = await resultOf(() => {
      throw thrown
    })
    expect(job).toMatchObject({ status: 'scheduled', attempt: 1 })
    if (typeof message === 'string') expect(job?.errorMessage).toBe(message)
    else expect(job?.errorMessage).toMatch(message)
  })

  it('harms none of the jobs that are settled in the same statement', async () => {
    const actor = anything()
    await taskq.enqueueMany(
      actor,
      Array.from({ length: 40 }, (_, n) => n),
    )
    const worker = await workerOn(database(), [
      actor.run(n => {
        if (n % 4 === 0) throw hostile
        if (n % 4 === 1) throw new Error('\u0000')
        return n % 4 === 2 ? '\u0000' : 'fine'
      }),
    ])
    await expect
      .poll(() => vitalsOf(worker))
      .toMatchObject({ settled: { succeeded: 10, failed: 30, abandoned: 0 } })
    await worker.stop()
  })
})
