import { TaskQError } from '../../core/errors.ts'
import { checkName } from '../../core/names.ts'
import type { Settings } from '../../core/read-settings.ts'
import type { Runner } from '../../sql/connection.ts'
import type { FiringDefinitions } from '../payload-factory.ts'
import { type HeldSchedule, lockSchedules, readClock, readSchedules } from './held-schedule.ts'

/** What the verbs need of the world. */
export interface VerbPorts {
  /** Runs work in one transaction; nothing is kept where it fails. */
  readonly transact: <T>(work: (transaction: Runner) => Promise<T>) => Promise<T>
  readonly settings: Settings
  /** Who does it, for decisions and the audit. */
  readonly principal: string
  /** Payload factories and schemas, where this process has the module; null: it has none. */
  readonly definitions: FiringDefinitions | null
}

/** What every verb that changes something takes. */
export interface Reasoned {
  /** Why, for the audit. */
  readonly reason?: string
}

/** What a verb did to a schedule. */
export interface ScheduleChanged {
  readonly name: string
  /** False: it was so already, and nothing was written. */
  readonly changed: boolean
  readonly revision: number
  /** The first instant that nobody has decided about; null: none comes any more. */
  readonly nextAt: Date | null
  /** In words: what became of the cursor, and of what was owed. */
  readonly note: string
}

/** The database's instant: as it is, and as the next whole millisecond. */
export interface Clock {
  readonly now: string
  readonly nowMs: number
}

/** A schedule, under its lock or as it was read, and the instant of that. */
export interface Found extends Clock {
  readonly held: HeldSchedule
}

/** Locks a name and reads what stands there; undefined: nothing does. */
export async function lock(
  transaction: Runner,
  name: string,
): Promise<Clock & { readonly held: HeldSchedule | undefined }> {
  checkName('name', name)
  await transaction.run(lockSchedules, { names: [name] })
  return read(transaction, name)
}

/** Locks a schedule that is not retired; any other name is refused as `SCHEDULE_UNKNOWN`. */
export async function lockLiving(transaction: Runner, name: string): Promise<Found> {
  const { held, ...clock } = await lock(transaction, name)
  return { ...clock, held: living(held, name) }
}

/** Reads a schedule, retired or not, without a lock. */
export async function readOne(transaction: Runner, name: string): Promise<Found> {
  checkName('name', name)
  const { held, ...clock } = await read(transaction, name)
  if (held === undefined) throw unknownSchedule('there is no schedule of this name')
  return { ...clock, held }
}

async function read(transaction: Runner, name: string) {
  const [held] = await transaction.run(readSchedules, { names: [name] })
  const [clock] = await transaction.run(readClock, {})
  return { held, now: clock?.now ?? '', nowMs: clock?.nowMs ?? 0 }
}

export function living(held: HeldSchedule | undefined, name: string): HeldSchedule {
  if (held === undefined) throw unknownSchedule('there is no schedule of this name')
  if (held.isRetired) throw unknownSchedule(`"${name}" is retired: create it anew`)
  return held
}

function unknownSchedule(reason: string): TaskQError {
  return new TaskQError('SCHEDULE_UNKNOWN', `name: ${reason}`, { field: 'name' })
}

/** Refuses to go on where a schedule was edited between a look, by which something was made, and its lock. */
export function requireSame(seen: HeldSchedule, held: HeldSchedule): void {
  if (seen.id === held.id && seen.revision === held.revision) return
  throw new TaskQError('LOCK_TIMEOUT', 'the schedule was edited meanwhile: try again')
}

/** The answer of a verb that found nothing to change. */
export function unchanged({ name, revision, cursorMs }: HeldSchedule, note: string): ScheduleChanged {
  return { name, changed: false, revision, nextAt: cursorMs === null ? null : new Date(cursorMs), note }
}
