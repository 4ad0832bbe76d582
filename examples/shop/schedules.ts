import { defineActor, defineSchedule } from 'taskq-serverless/client'
import * as z from 'zod'

export const writePost = defineActor({
  name: 'write-post',
  queue: 'mail',
  payload: z.object({ topic: z.string() }),
})

export const bill = defineActor({
  name: 'bill',
  queue: 'mail',
  payload: z.object({ plan: z.string() }),
})

/** There should be a fresh post: only the newest matters, and it replaces one that nobody has begun. */
export const dailyPost = defineSchedule({
  name: 'daily-post',
  actor: writePost,
  cron: '0 7 * * *',
  timezone: 'Europe/Berlin',
  intent: { missed: 'latest', onOpen: 'supersede' },
  maxUnclaimedAge: '48h',
  payload: { topic: 'today' },
})

/** Each month's invoice is owed: after an outage every one of them is made. */
export const monthlyInvoice = defineSchedule({
  name: 'monthly-invoice',
  actor: bill,
  cron: '0 6 1 * *',
  timezone: 'UTC',
  deliverable: {},
  payload: { plan: 'standard' },
})

/** The news of an evening: what they are about is known when they are due, and later nobody reads them. */
export const eveningNews = defineSchedule({
  name: 'evening-news',
  actor: writePost,
  cron: '0 18 * * *',
  timezone: 'Europe/Berlin',
  intent: { missed: 'skip', onOpen: 'supersede' },
  payloadFactory: 'topic-of-the-day',
})
