import { Duration } from 'aws-cdk-lib'
import { InvalidInputError } from '../shared/core/errors.ts'
import { type Settings, variableName } from '../shared/core/read-settings.ts'
import type { Routine } from '../shared/sweeper/define.ts'
import type { Watch } from '../shared/sweeper/vital-signs.ts'

/** How much a function gets: memory buys its share of a processor, too. */
export interface Size {
  readonly memoryMb: number
  readonly timeout: Duration
}

const pulsing: Size = { memoryMb: 128, timeout: Duration.seconds(120) }
/** It reckons calendars, and runs what its users wrote to make payloads. */
const firing: Size = { memoryMb: 256, timeout: Duration.seconds(120) }
const draining: Size = { memoryMb: 256, timeout: Duration.seconds(60) }
/** It reads for a moment; what is slow is left out, and the minute is soon the next one's. */
const watching: Size = { memoryMb: 256, timeout: Duration.seconds(30) }
/** For what a deployment waits for while it changes the database: all that Lambda gives. */
export const migrating: Size = { memoryMb: 256, timeout: Duration.minutes(14) }
/** Smoke asks a few functions at a time, each of which may wait twice for a connection. */
export const asking: Size = { memoryMb: 256, timeout: Duration.minutes(5) }

/** What a rule starts: a routine has batches to make, and the watcher none. */
export function isRoutine(scheduled: Routine | Watch): scheduled is Routine {
  return 'pulse' in scheduled
}

/** A pulsing function mostly sleeps; the others work and leave. */
export function sizeOf(scheduled: Routine | Watch): Size {
  if (!isRoutine(scheduled)) return watching
  if (scheduled.pulse === null) return draining
  return scheduled.batchSize === 'cronTickLimit' ? firing : pulsing
}

/** Room for a connection, a last batch and its retry, the report and the close. */
const reserveMs = 15_000

/** Refuses settings with which the platform would end a function before it ended by itself. */
export function checkTimeout(sweep: Routine, settings: Settings): void {
  const { timeout } = sizeOf(sweep)
  const windowMs = sweep.pulse === null ? 0 : settings.invocationWindow
  const batchMs = settings[sweep.statementTimeout]
  if (windowMs + 2 * batchMs + reserveMs <= timeout.toMilliseconds()) return
  throw new InvalidInputError(
    'SETTING_INVALID',
    variableName('invocationWindow'),
    `${windowMs} ms, twice ${variableName(sweep.statementTimeout)} ${batchMs} ms and ${reserveMs} ms ` +
      `are more than the ${timeout.toSeconds()} s that ${sweep.purpose} may run`,
  )
}
