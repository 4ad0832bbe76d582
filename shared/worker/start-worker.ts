import type { Settings } from '../core/read-settings.ts'
import { newPace } from './claimer.ts'
import { Health, type HealthPorts } from './health.ts'
import { checkOptions, newIdentity, type WorkerOptions } from './options.ts'
import { type WorkerPorts, withSafeReport } from './ports.ts'
import type { SettledAs } from './settler.ts'
import { reserveMs, stopTimesWithin } from './soft-stop.ts'
import { Worker } from './worker.ts'
import type { WorkerHealth } from './worker-health.ts'

/** A long-lived worker. */
export interface RunningWorker {
  /**
   * How the queue is, as `taskq status` prints it, and this worker. It asks the database, on a connection of
   * its own, and never throws: what cannot be asked within 5 s is `healthy: false`, its parts null.
   *
   * @example
   * const { healthy, reasons } = await worker.health()
   * response.writeHead(healthy ? 200 : 503).end(reasons.join('\n')) // never for `degraded`
   */
  health(): Promise<WorkerHealth>
  /** The soft stop: claims no more, waits `TASKQ_SOFT_STOP_TIMEOUT` for the handlers, aborts the rest. */
  stop(): Promise<void>
  /** Resolves when it has ended; rejects with `WRONG_TARGET` where the database is another installation's. */
  readonly done: Promise<void>
}

/** Where a worker runs. */
export interface Place {
  readonly hostname: string
  readonly name: string
}

/**
 * Starts a worker that stays until it is stopped. Losing its connections does not end it.
 *
 * @example
 * const actors = [sendReceipt.run(deliver)]
 * const worker = startWorker({ ...ports, readStatus }, settings, { actors }, { hostname, name: 'mail' })
 * process.once('SIGTERM', () => worker.stop())
 * await worker.done
 */
export function startWorker(
  ports: WorkerPorts & HealthPorts,
  settings: Settings,
  given: WorkerOptions,
  place: Place,
): RunningWorker {
  const options = checkOptions(given, settings)
  const identity = newIdentity('process', place.hostname, place.name, options.queues)
  const safe = withSafeReport(ports)
  const setup = { ports: safe, settings, options, identity, pace: newPace(), leavesWhenIdleMs: null }
  const worker = new Worker(setup)
  const health = new Health(ports, settings.schemaName, () => worker.vitals())
  return { health: () => health.read(), stop: () => worker.stop(), done: worker.done }
}

/** What one invocation of a Lambda worker did: jobs by how they were settled, and why it left. */
export interface InvocationSummary extends Readonly<Record<SettledAs, number>> {
  readonly outcome: 'idle' | 'out_of_time'
  readonly durationMs: number
}

/** Nothing is due so soon that leaving and being invoked again would be dearer than waiting. */
const idleMs = 5000

/**
 * The Lambda form: one environment is one worker, and each of its invocations works until a claim with its
 * repair was empty and nothing of its queues is due within 5 s, or until the time is short. Then the same
 * soft stop ends it, whose waits are fitted into what is left.
 */
export function invocationWorker(settings: Settings, given: WorkerOptions, place: Place) {
  const options = checkOptions(given, settings)
  const identity = newIdentity('lambda', place.hostname, place.name, options.queues)
  const pace = newPace()
  return (ports: WorkerPorts, remainingMs: () => number) =>
    invoke(
      { ports: withSafeReport(ports), settings, options, identity, pace, leavesWhenIdleMs: idleMs },
      remainingMs,
    )
}

async function invoke(
  setup: ConstructorParameters<typeof Worker>[0],
  remainingMs: () => number,
): Promise<InvocationSummary> {
  const { ports, settings } = setup
  const startedMs = ports.nowMs()
  const worker = new Worker(setup)
  const ended = new AbortController()
  const times = stopTimesWithin(remainingMs(), settings)
  let outcome: InvocationSummary['outcome'] = 'idle'
  const watch = ports
    .sleep(remainingMs() - times.softStopMs - times.cleanupMs - times.settleMs - reserveMs, ended.signal)
    .then(() => {
      if (ended.signal.aborted) return
      outcome = 'out_of_time'
      void worker.stop(times)
    })
  try {
    await worker.done
  } finally {
    ended.abort()
    await watch
  }
  return { outcome, durationMs: Math.round(ports.nowMs() - startedMs), ...worker.vitals().settled }
}
