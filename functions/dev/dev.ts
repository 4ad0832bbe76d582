import { type Environment, readSettings, variableName } from '../../shared/core/read-settings.ts'
import type { ScriptConnection } from '../../shared/db/driver-connection.ts'
import type { RunResult } from '../../shared/sweeper/result.ts'
import { createClient } from '../entry/client.ts'
import { pause, startJobStream } from './job-stream.ts'
import { countJobs } from './live-statement.ts'
import type { OnInvoked } from './local-cloud.ts'
import { deployHere, type LocalDeployment } from './local-deployment.ts'
import { observe, showTrouble, taskqOnly } from './observe.ts'
import { makeScratchFolder } from './scratch-folder.ts'
import { stackSettings } from './stack-settings.ts'
import { deliveries } from './webhook-jobs.ts'
import { WorkerChild } from './worker-child.ts'

export interface DevOptions {
  readonly environment: Environment
  readonly signal: AbortSignal
  /** Something that happened. */
  readonly onLine: (text: string) => void
  /** How it stands, again and again. */
  readonly onLive: (text: string) => void
}

/** What `taskq dev --json` prints when it has been stopped. */
export interface DevResult {
  readonly enqueued: number
  readonly jobs: Readonly<Record<string, number>>
  /** Undefined where it was stopped; else what ended it. */
  readonly failure?: string
}

/** Longer than the soft stop of a worker with the default settings. */
const workerPatienceMs = 40_000
const liveMs = 1000

/**
 * Everything at once on this machine until the signal comes: a database, the synthesized stack on its own
 * rules, a worker, and a stream of real webhooks. What was started last ends first: the stream, the worker
 * by its soft stop, the functions, the database.
 */
export async function dev(options: DevOptions): Promise<DevResult> {
  const { signal, onLine, onLive } = options
  const ends = new AsyncDisposableStack()
  try {
    const deployment = await begin(options, ends)
    const database = await observe(deployment, 'taskq-dev')
    ends.defer(() => database.close())
    const settings = readSettings(taskqOnly(deployment.environment))
    const client = await createClient({ settings })
    ends.defer(() => client.close())
    const worker = await startWorker(deployment, options, ends)
    deployment.cloud.startRules()
    const stream = startJobStream(client, onLine)
    ends.defer(async () => {
      onLine('stopping: no more jobs')
      await stream.stop()
    })
    onLine(`jobs: a webhook every 250 ms, of ${deliveries.length} that GitHub sent`)
    onLine(`ready: try TASKQ_DATABASE_URL=${deployment.url} npx taskq status; Ctrl-C stops everything`)
    let failure: string | undefined
    void worker.exited.then(code => {
      failure = `the worker ended with code ${code}: ${worker.stderr}`
    })
    while (!signal.aborted && failure === undefined) {
      onLive(await liveLine(database))
      await pause(liveMs, signal)
    }
    const stopped = failure === undefined
    await stream.stop()
    const jobs = (await database.run(countJobs, {}))[0] ?? {}
    return { enqueued: stream.enqueued, jobs, ...(!stopped && { failure: failure ?? '' }) }
  } catch (error) {
    if (!signal.aborted) throw error
    return { enqueued: 0, jobs: {} }
  } finally {
    onLive('')
    await ends.disposeAsync()
  }
}

async function begin(options: DevOptions, ends: AsyncDisposableStack): Promise<LocalDeployment> {
  const { environment, signal, onLine } = options
  const scratch = makeScratchFolder('dev')
  process.once('exit', () => scratch.remove())
  ends.defer(() => {
    scratch.remove()
    onLine('stopped: everything')
  })
  return deployHere(
    {
      scratch,
      settings: stackSettings(environment),
      schema: environment[variableName('schemaName')],
      environment,
      onLine: (_, line) => showTrouble(line, onLine),
      onPart: onLine,
      signal,
      onInvoked: invoked(onLine),
    },
    ends,
  )
}

async function startWorker(
  { environment }: LocalDeployment,
  { onLine }: DevOptions,
  ends: AsyncDisposableStack,
): Promise<WorkerChild> {
  const worker = await WorkerChild.start({ mode: 'work', environment, onTrouble: onLine })
  ends.defer(async () => {
    await worker.stop(workerPatienceMs)
    onLine('stopped: the worker')
  })
  onLine(`worker: process ${worker.pid}`)
  return worker
}

/** A run of a function in one line, where it did something or failed. */
function invoked(onLine: (text: string) => void): OnInvoked {
  return (purpose, outcome) => {
    if ('error' in outcome) {
      onLine(`${purpose}: ${outcome.error.message}`)
      return
    }
    const { outcome: ending, rows, pulses, durationMs } = outcome.result as RunResult
    const seconds = (durationMs / 1000).toFixed(1)
    onLine(`${purpose} ${ending}: rows ${rows}, pulses ${pulses}, ${seconds} s`)
  }
}

async function liveLine(database: ScriptConnection): Promise<string> {
  const [jobs = {}] = await database.run(countJobs, {})
  return Object.entries(jobs)
    .map(([status, count]) => `${count} ${status}`)
    .join(' · ')
}
