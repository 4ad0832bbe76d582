import * as z from 'zod'
import { defineActor } from '../../../functions/entry/client.ts'

export const sendMail = defineActor({
  name: 'send-mail',
  queue: 'mail',
  retry: { maxAttempts: 7 },
  payload: z.object({ to: z.string() }),
})

/** What a deployment of the tests stores. */
export const actors = [sendMail]
