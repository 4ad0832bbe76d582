import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import type { FromSandbox, Sandbox, ToSandbox } from './sandbox-messages.ts'

/**
 * What runs inside a sandbox' thread: it loads the bundle once, as a cold start does, and then handles one
 * event after another, as Lambda's runtime does. Its environment is what the thread was started with.
 */
type Handler = (event: unknown, context: unknown) => unknown

const { folder, handler, name, arn, memoryMb } = workerData as Sandbox
const port = parentPort
if (port === null) throw new Error('the sandbox is a worker thread')

const post = (message: FromSandbox) => port.postMessage(message)

async function load(): Promise<Handler> {
  const [file = '', exportName = ''] = handler.split('.')
  const bundle = await import(pathToFileURL(join(folder, `${file}.mjs`)).href)
  const found = (bundle as Record<string, unknown>)[exportName]
  if (typeof found !== 'function') throw new Error(`Handler '${exportName}' not found in ${file}.mjs`)
  return found as Handler
}

function contextOf({ requestId, remainingMs }: Extract<ToSandbox, { type: 'invoke' }>) {
  const endsAt = performance.now() + remainingMs
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName: name,
    functionVersion: '$LATEST',
    invokedFunctionArn: arn,
    memoryLimitInMB: String(memoryMb),
    awsRequestId: requestId,
    logGroupName: `/aws/lambda/${name}`,
    logStreamName: 'local',
    getRemainingTimeInMillis: () => Math.max(0, Math.round(endsAt - performance.now())),
  }
}

function describe(thrown: unknown) {
  const { name: errorType, message, stack, code } = thrown as Partial<NodeJS.ErrnoException>
  return {
    errorType: errorType ?? 'Error',
    errorMessage: message ?? String(thrown),
    ...(stack === undefined ? {} : { stack }),
    ...(code === undefined ? {} : { code }),
  }
}

const loading = load()
// Reported by the first invocation, as Lambda does: without a listener it would end the thread before one.
loading.catch(() => undefined)

port.on('message', async (message: ToSandbox) => {
  if (message.type === 'shutdown') {
    process.emit('SIGTERM', 'SIGTERM')
    return
  }
  try {
    const handle = await loading
    // As JSON both ways, because that is what reaches and leaves a function.
    const payload = JSON.stringify((await handle(JSON.parse(message.event), contextOf(message))) ?? null)
    post({ requestId: message.requestId, payload })
  } catch (thrown) {
    post({ requestId: message.requestId, failure: describe(thrown) })
  }
})
