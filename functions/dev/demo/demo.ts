import { type Environment, readSettings } from '../../../shared/core/read-settings.ts'
import { createClient } from '../../entry/client.ts'
import { deployHere } from '../local-deployment.ts'
import { observe, showTrouble, taskqOnly } from '../observe.ts'
import { makeScratchFolder } from '../scratch-folder.ts'
import { WorkerChild } from '../worker-child.ts'
import { conserved } from './conserved.ts'
import { deadConsumer } from './dead-consumer.ts'
import { delayedJobs } from './delayed-jobs.ts'
import { heldCount, killedWorker } from './killed-worker.ts'
import { missedRuns } from './missed-runs.ts'
import { realPayloads } from './real-payloads.ts'
import { redriven } from './redriven.ts'
import type { Facts, Step, Tour } from './tour.ts'

/**
 * Leases so short that a tour can wait for them, and no shorter than a busy machine can keep alive; the same
 * settings for the bundles and the workers.
 */
const settings = {
  lockLease: '6s',
  heartbeatInterval: '500ms',
  heartbeatCommandTimeout: '1s',
  maxHeartbeatFailures: '2',
  cleanupGrace: '1s',
  softStopTimeout: '5s',
  pollInterval: '200ms',
  maxConcurrency: String(heldCount),
}

const steps: readonly Step[] = [
  realPayloads,
  killedWorker,
  delayedJobs,
  conserved,
  deadConsumer,
  missedRuns,
  redriven,
]

export interface DemoOptions {
  readonly environment: Environment
  readonly signal: AbortSignal
  readonly onLine: (text: string) => void
}

/** What `taskq demo --json` prints. */
export interface DemoResult {
  readonly passed: boolean
  readonly seconds: number
  readonly steps: readonly StepResult[]
}

interface StepResult {
  readonly name: string
  readonly passed: boolean
  readonly seconds: number
  readonly facts?: Facts
  readonly error?: string
}

/** The bounded tour: what the README promises, done once before one's eyes and checked. */
export async function demo(options: DemoOptions): Promise<DemoResult> {
  const startedMs = performance.now()
  const results: StepResult[] = []
  const ends = new AsyncDisposableStack()
  try {
    const tour = await timed({ name: 'start', run: () => begin(options, ends) }, options, results)
    for (const step of steps) {
      if (tour === undefined || results.some(({ passed }) => !passed)) break
      await timed({ name: step.name, run: async () => ({ facts: await step.run(tour) }) }, options, results)
    }
  } finally {
    await ends.disposeAsync()
  }
  const passed = results.length === steps.length + 1 && results.every(result => result.passed)
  return { passed, seconds: secondsSince(startedMs), steps: results }
}

/** Runs one step, prints how it went and keeps the result; undefined where it failed. */
async function timed<T extends { facts?: Facts }>(
  step: { name: string; run: () => Promise<T> },
  { onLine, signal }: DemoOptions,
  results: StepResult[],
): Promise<T | undefined> {
  const startedMs = performance.now()
  const { name } = step
  try {
    signal.throwIfAborted()
    const outcome = await step.run()
    const { facts = {} } = outcome
    results.push({ name, passed: true, seconds: secondsSince(startedMs), facts })
    const words = Object.entries(facts).map(([what, seen]) => `${what} ${seen}`)
    onLine(`✓ ${name} (${secondsSince(startedMs)} s)${words.length > 0 ? `: ${words.join(', ')}` : ''}`)
    return outcome
  } catch (error) {
    const message = signal.aborted ? 'interrupted' : error instanceof Error ? error.message : String(error)
    results.push({ name, passed: false, seconds: secondsSince(startedMs), error: message })
    onLine(`✗ ${name} (${secondsSince(startedMs)} s): ${message}`)
    return undefined
  }
}

const secondsSince = (startedMs: number) => Math.round((performance.now() - startedMs) / 100) / 10

async function begin(
  { environment, signal, onLine }: DemoOptions,
  ends: AsyncDisposableStack,
): Promise<Tour & { facts?: Facts }> {
  const scratch = makeScratchFolder('demo')
  process.once('exit', () => scratch.remove())
  ends.defer(() => scratch.remove())
  const trouble = (text: string) => onLine(`  ${text}`)
  const deployment = await deployHere(
    {
      scratch,
      settings,
      environment,
      onLine: (_, line) => showTrouble(line, trouble),
      onPart: trouble,
      signal,
    },
    ends,
  )
  const queueSettings = readSettings(taskqOnly(deployment.environment))
  const client = await createClient({ settings: queueSettings })
  ends.defer(() => client.close())
  const database = await observe(deployment, 'taskq-demo')
  ends.defer(() => database.close())
  const handled = new Map<string, number>()
  const workers: WorkerChild[] = []
  ends.defer(async () => {
    for (const worker of workers) await worker.kill()
  })
  return {
    deployment,
    client,
    settings: queueSettings,
    database,
    signal,
    handled,
    enqueued: new Set(),
    startWorker: async mode => {
      const worker = await WorkerChild.start({
        mode,
        environment: deployment.environment,
        onHandled: id => handled.set(id, (handled.get(id) ?? 0) + 1),
        onTrouble: trouble,
      })
      workers.push(worker)
      return worker
    },
  }
}
