import { setTimeout as sleepFor, setImmediate as turn } from 'node:timers/promises'
import type { Settings } from '../../shared/core/read-settings.ts'
import type { WorkerPorts } from '../../shared/worker/ports.ts'
import { openConnection } from './connection.ts'

/** What a worker needs of this process. Trouble that it outlives goes nowhere unless somebody listens. */
export function workerPorts(
  settings: Settings,
  report: WorkerPorts['report'] = () => undefined,
): WorkerPorts {
  return {
    connect: queryTimeoutMs =>
      openConnection({
        settings,
        applicationName: 'taskq-worker',
        queryTimeoutMs,
        sleep,
        random: Math.random,
      }),
    nowMs: () => performance.now(),
    sleep,
    turn: () => turn(),
    report,
  }
}

/** Waits, at most; ends at once and without an error when the signal is aborted. */
async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await sleepFor(Math.max(0, ms), undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
}
