import type { Occasion } from 'taskq-serverless/client'
import { sendReceipt } from './actors.ts'
import { bill, dailyPost, eveningNews, monthlyInvoice, writePost } from './schedules.ts'

/** What the stack's `definitions` stores at every deployment. */
export const actors = [sendReceipt, writePost, bill]
export const schedules = [dailyPost, monthlyInvoice, eveningNews]

/** Makes the payload of one instance, when it is due; `cron` holds it to the actor's schema. */
export const payloadFactories = {
  'topic-of-the-day': ({ dueAt }: Occasion) => ({ topic: dueAt.toISOString().slice(0, 10) }),
}
