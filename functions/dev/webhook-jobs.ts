import { isDeepStrictEqual } from 'node:util'
import definitions from '@octokit/webhooks-examples' with { type: 'json' }
import * as z from 'zod'
import { defineActor, type JobContext, NonRetryableError } from '../entry/client.ts'

/** One webhook as GitHub sent it. */
export interface Delivery {
  readonly event: string
  readonly body: Readonly<Record<string, unknown>>
}

/** Every example of GitHub's own, in the order of the package. */
export const deliveries: readonly Delivery[] = (
  definitions as unknown as readonly { name: string; examples: Delivery['body'][] }[]
).flatMap(({ name, examples }) => examples.map(body => ({ event: name, body })))

/** A job for each delivery of a webhook; `failures` is how many of its first attempts fail on purpose. */
export const receiveWebhook = defineActor({
  name: 'receive-webhook',
  queue: 'webhooks',
  payload: z.object({
    delivery: z.int().check(z.nonnegative()),
    event: z.string(),
    body: z.looseObject({}),
    failures: z.optional(z.int()),
  }),
  // Short and without jitter, so that a tour need not wait and can say when a retry is due.
  retry: { base: '1s', backoff: 'fixed', jitter: 0 },
})

export type Webhook = z.infer<(typeof receiveWebhook)['payload']>

/** The payload that carries a delivery. */
export function webhookOf(delivery: number, failures = 0): Webhook {
  const { event, body } = deliveries[delivery % deliveries.length] ?? { event: '', body: {} }
  return { delivery: delivery % deliveries.length, event, body, ...(failures > 0 && { failures }) }
}

/** Checks that what arrived is what was sent, down to the last member. */
export function receive({ delivery, event, body, failures = 0 }: Webhook, { attempt }: JobContext) {
  if (attempt <= failures) throw new Error(`attempt ${attempt} fails on purpose`)
  if (!isDeepStrictEqual({ event, body }, deliveries[delivery])) {
    throw new NonRetryableError(`delivery ${delivery} arrived other than it was sent`)
  }
  return { event, members: Object.keys(body).length }
}
