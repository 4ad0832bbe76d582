import { setTimeout as sleepFor, setImmediate as turn } from 'node:timers/promises'
import type { Settings } from '../../shared/core/read-settings.ts'
import { codeOf } from '../../shared/sql/failures.ts'
import type { Trouble, WorkerPorts } from '../../shared/worker/ports.ts'
import { openConnection } from './connection.ts'

/** Trouble that nobody else listens to is a line on the standard error, never silence. */
function tell({ during, error }: Trouble): void {
  const [message, code] = error instanceof Error ? [error.message, codeOf(error)] : [String(error), undefined]
  process.stderr.write(
    `taskq worker: ${during} failed: ${message}${code === undefined ? '' : ` (${code})`}\n`,
  )
}

/** What a worker needs of this process. */
export function workerPorts(settings: Settings, report: WorkerPorts['report'] = tell): WorkerPorts {
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
