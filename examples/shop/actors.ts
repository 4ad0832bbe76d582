import { defineActor } from 'taskq-serverless/client'
import * as z from 'zod'

/** One kind of job: who enqueues it and who works on it import it from here. */
export const sendReceipt = defineActor({
  name: 'send-receipt',
  queue: 'mail',
  payload: z.object({ orderId: z.uuid() }),
  retry: { base: '5s', cap: '10m', maxAttempts: 8 },
})
