import { createClient, defineActor } from 'taskq-serverless/client'
import { createWorkerHandler } from 'taskq-serverless/worker'
import * as z from 'zod'

/** An application that enqueues and works, and prints what came of it. */
const add = defineActor({ name: 'add', queue: 'sums', payload: z.object({ to: z.number() }) })
const work = createWorkerHandler({ actors: [add.run(({ to }) => to + 1)] })

async function main() {
  const taskq = await createClient()
  const { id, created } = await taskq.enqueue(add, { to: 41 })
  const { outcome, succeeded } = await work({}, { getRemainingTimeInMillis: () => 60_000 })
  const job = await taskq.getJob(id)
  const refused = await taskq.enqueue('add', 'a\0b').catch(error => error.code)
  await taskq.close()
  process.stdout.write(JSON.stringify({ created, outcome, succeeded, result: job?.result, refused }))
}

main().catch(error => process.stdout.write(JSON.stringify({ failed: `${error.code}: ${error.message}` })))
