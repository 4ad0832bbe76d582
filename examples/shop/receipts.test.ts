import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTestQueue, type TestQueue } from 'taskq-serverless/testing'
import { sendReceipt } from './actors.ts'

let queue: TestQueue
before(async () => {
  queue = await startTestQueue()
})
after(() => queue.close())

test('a receipt that cannot be sent is tried again', async () => {
  const orderId = crypto.randomUUID()
  await queue.client.enqueue(sendReceipt, { orderId }, { delay: '5m' })
  assert.deepEqual(await queue.drain([sendReceipt.run(() => undefined)]), [])

  await queue.advance('5m')
  const [failed] = await queue.drain([
    sendReceipt.run(() => {
      throw new Error('the mail server is away')
    }),
  ])
  assert.equal(failed?.errorMessage, 'the mail server is away')

  await queue.advance('10s')
  const [sent] = await queue.drain([sendReceipt.run(({ orderId }) => orderId)])
  assert.deepEqual([sent?.outcome, sent?.attempt, sent?.result], ['succeeded', 2, orderId])
})
