import { createClient, defineActor, type Enqueued } from 'taskq-serverless/client'
import { TaskQ } from 'taskq-serverless/infra'
import { startTestQueue } from 'taskq-serverless/testing'
import { createWorkerHandler } from 'taskq-serverless/worker'
import * as z from 'zod'

const add = defineActor({ name: 'add', payload: z.object({ to: z.number() }) })
export const handler = createWorkerHandler({ actors: [add.run(({ to }) => to.toFixed())] })

export async function enqueue(): Promise<Enqueued> {
  const taskq = await createClient()
  // @ts-expect-error: a text is no number.
  await taskq.enqueue(add, { to: 'one' })
  return taskq.enqueue(add, { to: 1 }, { delay: '5m' })
}

export class Queue extends TaskQ {}
export { startTestQueue }
