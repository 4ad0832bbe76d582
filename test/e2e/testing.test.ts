import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, inject, test } from 'vitest'
import * as z from 'zod'
import { createClient, defineActor } from '../../functions/entry/client.ts'
import { startTestQueue } from '../../functions/entry/testing.ts'
import { createWorkerHandler } from '../../functions/entry/worker.ts'
import { administer } from '../support/global-postgres.ts'

const remind = defineActor({
  name: 'remind',
  payload: z.object({ day: z.number() }),
  retry: { base: '10s', jitter: 0 },
})
const repeat = remind.run(({ day }) => ({ reminded: day }))

const queue = await startTestQueue()
afterAll(() => queue.close())

/** What a drain did, in a few words. */
const drained = async (...actors: Parameters<typeof queue.drain>[0]) =>
  (await queue.drain(actors)).map(({ actor, attempt, outcome, result }) => [actor, attempt, outcome, result])

describe('a drain', () => {
  test('runs what is due in its order, and answers with each attempt', async () => {
    const { id } = await queue.client.enqueue(remind, { day: 1 })
    await queue.client.enqueue(remind, { day: 2 }, { delay: '1h' })
    await queue.client.enqueue(remind, { day: 3 })
    expect(await drained(repeat)).toEqual([
      ['remind', 1, 'succeeded', { reminded: 1 }],
      ['remind', 1, 'succeeded', { reminded: 3 }],
    ])
    expect(await queue.client.getJob(id)).toMatchObject({ status: 'succeeded', result: { reminded: 1 } })
    expect(await drained(repeat)).toEqual([])
  })

  test('runs what fell due meanwhile, however much it is', async () => {
    await queue.client.enqueueMany(
      remind,
      Array.from({ length: 250 }, (_, day) => ({ day })),
      { delay: '1h' },
    )
    await queue.advance('59m')
    expect(await drained(repeat)).toHaveLength(0)
    await queue.advance('1m')
    expect(await drained(repeat)).toHaveLength(251)
  })

  test('leaves a retry to its time, and shows what the handler threw', async () => {
    const fail = remind.run(({ day }) => {
      throw new RangeError(`no day ${day}`)
    })
    await queue.client.enqueue(remind, { day: 32 })
    const [attempt, another] = await queue.drain([fail])
    expect(attempt).toMatchObject({ outcome: 'failed', errorClass: 'RangeError', errorMessage: 'no day 32' })
    expect(attempt?.errorStack).toContain('testing.test.ts')
    expect(another).toBeUndefined()
    await queue.advance('10s')
    expect(await drained(repeat)).toEqual([['remind', 2, 'succeeded', { reminded: 32 }]])
  })

  test('runs what handlers enqueue', async () => {
    const again = remind.run(async ({ day }) => {
      if (day > 0) await queue.client.enqueue(remind, { day: day - 1 })
    })
    await queue.client.enqueue(remind, { day: 2 })
    expect(await drained(again)).toHaveLength(3)
  })

  test('leaves other actors’ jobs alone', async () => {
    const other = defineActor({ name: 'other', payload: z.object({}) })
    const { id } = await queue.client.enqueue(other, {})
    expect(await drained(repeat)).toEqual([])
    expect(await queue.client.getJob(id)).toMatchObject({ status: 'pending' })
    expect(await drained(other.run(() => 'done'))).toEqual([['other', 1, 'succeeded', 'done']])
  })

  test('takes back what a dead worker held, once its lease is over', async () => {
    const { id } = await queue.client.enqueue(remind, { day: 4 })
    await administer(
      queue.databaseUrl,
      `update "${queue.schema}".jobs set status = 'running', attempt = 1, claim_epoch = 1,
        started_at = now(), locked_by = gen_random_uuid(), lock_expires_at = now() + interval '1 minute'
      where id = '${id}'`,
    )
    expect(await drained(repeat)).toEqual([])
    await queue.advance('2m')
    await queue.drain([repeat])
    await queue.advance('1h')
    expect(await drained(repeat)).toEqual([['remind', 2, 'succeeded', { reminded: 4 }]])
  })
})

describe('a test queue', () => {
  test('stands beside others and is gone when it is closed', async () => {
    const url = inject('way').directUrl
    const schemas = `select count(*)::int as left from pg_namespace where nspname = any (array['%'])`
    const one = await startTestQueue({ databaseUrl: url })
    const two = await startTestQueue({ databaseUrl: url })
    await one.client.enqueue(remind, { day: 1 })
    expect(await two.drain([repeat])).toEqual([])
    expect(await one.drain([repeat])).toHaveLength(1)
    await one.close()
    await two.close()
    const left = await administer(url, schemas.replace('%', `${one.schema}','${two.schema}`))
    expect(left).toEqual([{ left: 0 }])
  })

  test('serves code that makes its own client and worker', async () => {
    await using client = await createClient({ settings: queue.settings })
    await client.enqueue(remind, { day: 9 })
    const handler = createWorkerHandler({ actors: [repeat], settings: queue.settings })
    expect(await handler({}, { getRemainingTimeInMillis: () => 60_000 })).toMatchObject({ succeeded: 1 })
  })

  test('takes the settings that a test is about', async () => {
    await using small = await startTestQueue({ settings: { payloadMaxBytes: 10 } })
    await expect(small.client.enqueue(remind, { day: 1_000_000 })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    })
  })

  test('ends a drain under way when it is closed, twice if asked, and refuses later ones', async () => {
    const closing = await startTestQueue()
    const { id } = await closing.client.enqueue(remind, { day: 1 })
    const underWay = closing.drain([repeat])
    await Promise.all([closing.close(), closing.close()])
    await closing.close()
    expect(await underWay).toMatchObject([{ jobId: id, outcome: 'succeeded' }])
    const refusal = { code: 'USAGE', message: 'the queue is closed' }
    await expect(closing.drain([repeat])).rejects.toMatchObject(refusal)
    await expect(closing.advance('1h')).rejects.toMatchObject(refusal)
    await expect(closing.client.enqueue(remind, { day: 2 })).rejects.toMatchObject({ code: 'USAGE' })
  })

  test('refuses a time that is none, by its name', async () => {
    await expect(queue.advance('1 hour' as '1h')).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      field: 'by',
    })
  })
})

test.each([
  ['keeps it', ''],
  ['closes it', 'await queue.close()'],
])('a script that %s ends by itself, and the server and its data with it', async (_, ending) => {
  const temporary = mkdtempSync(join(tmpdir(), 'taskq-ends-'))
  // As the system's own: where root tests, another user makes and deletes the server's files.
  chmodSync(temporary, 0o1777)
  const script = `import { startTestQueue } from '${pathToFileURL('functions/entry/testing.ts')}'
    const queue = await startTestQueue()
    await queue.client.enqueue('anything', {}).catch(error => process.stdout.write(error.code + ' '))
    process.stdout.write(queue.databaseUrl)
    ${ending}`
  const environment = ['-u', 'TASKQ_TEST_DATABASE_URL', `TMPDIR=${temporary}`]
  const words = [...environment, process.execPath, '--input-type=module', '--eval', script]
  const { status, stdout, stderr } = spawnSync('env', words, { encoding: 'utf8', timeout: 20_000 })
  expect(status, stderr).toBe(0)
  const [, code, url = ''] = /^(\S+) (\S+)$/.exec(stdout) ?? []
  expect(code).toBe('ACTOR_UNKNOWN')
  await expect.poll(() => administer(url, 'select').catch(error => error.code)).toBe('ECONNREFUSED')
  await expect.poll(() => readdirSync(temporary)).toEqual([])
  rmSync(temporary, { recursive: true })
})

test('the example of a test runs in a clone', () => {
  const words = ['--conditions', 'taskq-source', '--test', 'examples/shop/receipts.test.ts']
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  expect(status, `${stdout}${stderr}`).toBe(0)
  expect(stdout).toContain('pass 1')
})
