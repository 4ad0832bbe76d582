import type { Settings } from '../core/read-settings.ts'
import type { Attempts } from './attempts.ts'
import type { WorkerPorts } from './ports.ts'

/** How long a stopping worker waits: for its handlers, for the aborted ones, for the database. */
export interface StopTimes {
  readonly softStopMs: number
  readonly cleanupMs: number
  readonly settleMs: number
}

/** How long the last settlements of a stopping worker may take. */
const settleMs = 5000

/** Kept for the last answer and for closing the connections. */
export const reserveMs = 1000

/** The waits of a soft stop as they are set. */
export function stopTimes(settings: Settings): StopTimes {
  return { softStopMs: settings.softStopTimeout, cleanupMs: settings.cleanupGrace, settleMs }
}

/** The same, scaled down where they would leave less than half of the remaining time to work in. */
export function stopTimesWithin(remainingMs: number, settings: Settings): StopTimes {
  const wanted = stopTimes(settings)
  const sum = wanted.softStopMs + wanted.cleanupMs + wanted.settleMs
  const scale = Math.min(1, Math.max(0, remainingMs - reserveMs) / 2 / sum)
  return {
    softStopMs: wanted.softStopMs * scale,
    cleanupMs: wanted.cleanupMs * scale,
    settleMs: wanted.settleMs * scale,
  }
}

/**
 * Ends the attempts of a worker that claims no more: they may end, and are then aborted and given back when
 * they stop. One that ignores its signal is left to its lease: released while its handler goes on, the job
 * would run twice at once.
 */
export async function endAttempts(ports: WorkerPorts, attempts: Attempts, times: StopTimes): Promise<void> {
  await allEnded(ports, attempts, times.softStopMs)
  for (const attempt of attempts.held()) attempts.stop(attempt, 'soft_stop')
  await allEnded(ports, attempts, times.cleanupMs)
  for (const attempt of attempts.held()) attempt.isDecided = true
}

async function allEnded(ports: WorkerPorts, attempts: Attempts, withinMs: number): Promise<void> {
  const over = new AbortController()
  const deadline = ports.sleep(withinMs, over.signal).then(() => {
    over.abort()
    attempts.wake()
  })
  while (attempts.running > 0 && !over.signal.aborted) await attempts.nextEnd()
  over.abort()
  await deadline
}
