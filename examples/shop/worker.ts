import { createWorkerHandler } from 'taskq-serverless/worker'
import { sendReceipt } from './actors.ts'
import { bill, writePost } from './schedules.ts'

/** A Lambda that works: its rule starts it every minute, and it stays while something is due. */
export const handler = createWorkerHandler({
  actors: [
    sendReceipt.run(async ({ orderId }, { signal }) => {
      signal.throwIfAborted()
      return { sent: `the receipt of order ${orderId}` }
    }),
    writePost.run(({ topic }) => ({ post: `news of ${topic}` })),
    bill.run(({ plan }) => ({ invoice: plan })),
  ],
})
