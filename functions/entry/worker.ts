import { hostname } from 'node:os'
import { InvalidInputError } from '../../shared/core/errors.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import type { WorkerOptions } from '../../shared/worker/options.ts'
import type { Trouble } from '../../shared/worker/ports.ts'
import {
  type InvocationSummary,
  invocationWorker,
  type RunningWorker,
  startWorker,
} from '../../shared/worker/start-worker.ts'
import { environmentSettings } from '../runtime/settings.ts'
import { workerPorts } from '../runtime/worker-ports.ts'

export {
  type Handler,
  type JobContext,
  NonRetryableError,
  type RunnableActor,
} from '../../shared/client/handler.ts'
export type {
  FeedStatus,
  FunctionStatus,
  QueueStatus,
  SnapshotStatus,
  Status,
  WorkerStatus,
} from '../../shared/core/status.ts'
export { JobStopped, type StopCause } from '../../shared/worker/job-stopped.ts'
export type { WorkerOptions } from '../../shared/worker/options.ts'
export type { InvocationSummary, RunningWorker } from '../../shared/worker/start-worker.ts'
export type { WorkerHealth, WorkerVitals } from '../../shared/worker/worker-health.ts'
export type { Trouble }

/** What both forms of a worker may be given besides their work. */
export interface WorkerWiring {
  /** The environment's (`TASKQ_…`) where absent. */
  readonly settings?: Settings
  /**
   * Is told of trouble that the worker outlives: a lost connection, a failed heartbeat. Where absent, each is
   * a line on the standard error.
   */
  readonly report?: (trouble: Trouble) => void
}

export interface RunWorkerOptions extends WorkerOptions, WorkerWiring {
  /** Begins the soft stop when it is aborted. */
  readonly signal?: AbortSignal
}

/**
 * Starts a long-lived worker.
 *
 * @example
 * const worker = await runWorker({ actors: [sendReceipt.run(async ({ orderId }) => mail(orderId))] })
 * process.once('SIGTERM', () => worker.stop())
 * await worker.done
 */
export async function runWorker(options: RunWorkerOptions): Promise<RunningWorker> {
  checkWiring(options)
  const settings = options.settings ?? environmentSettings()
  const place = { hostname: hostname(), name: `${hostname()}:${process.pid}` }
  // A chunk of its own, read when somebody asks for the health.
  const readStatus = async () => (await import('../runtime/queue-status.ts')).queueStatus(settings)
  const ports = { ...workerPorts(settings, options.report), readStatus }
  const worker = startWorker(ports, settings, options, place)
  // How it ended is for whoever awaits `done`.
  const stop = () => void worker.stop().catch(() => undefined)
  if (options.signal?.aborted) stop()
  options.signal?.addEventListener('abort', stop, { once: true })
  return worker
}

/** Refuses what would fail only once the worker runs, when nobody could stop it any more. */
function checkWiring({ report, signal }: RunWorkerOptions): void {
  const refuse = (field: string, reason: string) => new InvalidInputError('OPTION_INVALID', field, reason)
  if (report !== undefined && typeof report !== 'function') throw refuse('report', 'is no function')
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw refuse('signal', 'is no AbortSignal')
}

/** What Lambda hands a worker that matters here. */
export interface InvocationContext {
  getRemainingTimeInMillis(): number
  readonly functionName?: string
}

/**
 * The handler of a Lambda worker: started by its rule every minute, and by nudges. It works until nothing is
 * due any more, or until its time is short, and returns what it did. Whatever the event holds is ignored.
 *
 * @example
 * const deliver = sendReceipt.run(async ({ orderId }) => mail(orderId))
 * export const handler = createWorkerHandler({ actors: [deliver] })
 */
export function createWorkerHandler(
  options: WorkerOptions & WorkerWiring,
): (event: unknown, context: InvocationContext) => Promise<InvocationSummary> {
  let invoke: ReturnType<typeof invocationWorker> | undefined
  return async (_event, context) => {
    // Read when invoked, so that a wrong setting fails the invocation and not the load of the module.
    const settings = options.settings ?? environmentSettings()
    const place = { hostname: hostname(), name: context.functionName ?? 'lambda' }
    invoke ??= invocationWorker(settings, options, place)
    return invoke(workerPorts(settings, options.report), () => context.getRemainingTimeInMillis())
  }
}
