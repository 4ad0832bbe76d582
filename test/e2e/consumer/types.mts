import { createClient, defineActor, defineSchedule, type Enqueued } from 'taskq-serverless/client'
import type { TaskQ } from 'taskq-serverless/infra'
import { startTestQueue } from 'taskq-serverless/testing'
import { createWorkerHandler } from 'taskq-serverless/worker'
import * as z from 'zod'

const add = defineActor({ name: 'add', payload: z.object({ to: z.number() }) })
const taskq = await createClient()
export const enqueued: Enqueued = await taskq.enqueue(add, { to: 1 }, { delay: '5m' })
// @ts-expect-error: a text is no number.
await taskq.enqueue(add, { to: 'one' })
// @ts-expect-error: a duration has a unit.
await taskq.enqueue(add, { to: 1 }, { delay: '5' })

export const handler = createWorkerHandler({ actors: [add.run(({ to }) => to.toFixed())] })
// @ts-expect-error: the payload has no such member.
add.run(({ from }) => from)

const daily = { name: 'daily', actor: add, cron: '@daily', payload: { to: 1 } } as const
export const schedules = [defineSchedule({ ...daily, deliverable: {} })]
export const { changed }: { changed: boolean } = await taskq.schedules.edit('daily', { endAt: null })
// @ts-expect-error: nothing says what a missed run means.
defineSchedule(daily)
// @ts-expect-error: a text is no number.
defineSchedule({ ...daily, deliverable: {}, payload: { to: 'one' } })

await using queue = await startTestQueue({ settings: { payloadMaxBytes: 100 } })
export const outcomes = (await queue.drain([])).map(({ outcome }) => outcome satisfies string)

export const functionsOf = (stack: TaskQ): string[] => Object.keys(stack.functions)
// @ts-expect-error: the functions have names and no numbers.
export const firstOf = (stack: TaskQ) => stack.functions.at(0)
