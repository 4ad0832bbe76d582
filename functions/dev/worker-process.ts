import type { JobContext } from '../entry/client.ts'
import { runWorker } from '../entry/worker.ts'
import { receive, receiveWebhook, type Webhook } from './webhook-jobs.ts'
import type { FromWorker, ToWorker, WorkerMode } from './worker-messages.ts'

/**
 * A worker in a process of its own, so that it can be killed like one: `node worker-process.ts MODE`. It is
 * told to stop over the channel to its parent, and ends at once when that closes: it must not outlive it.
 */
const mode = process.argv[2] as WorkerMode
const stop = new AbortController()

const post = (message: FromWorker) => void process.send?.(message)
process.on('disconnect', () => process.exit(1))
process.on('message', (message: ToWorker) => {
  if (message === 'stop') stop.abort()
})

async function handle(payload: Webhook, context: JobContext) {
  if (mode === 'hold') return new Promise<never>(() => undefined)
  const result = receive(payload, context)
  post({ type: 'handled', id: context.id, attempt: context.attempt })
  return result
}

const worker = await runWorker({
  actors: [receiveWebhook.run(handle)],
  signal: stop.signal,
  report: ({ during, error }) => {
    const message = error instanceof Error ? error.message : String(error)
    post({ type: 'trouble', during, message })
  },
})
post({ type: 'ready' })
await worker.done
process.removeAllListeners('disconnect')
process.disconnect()
