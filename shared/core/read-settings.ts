import { formatDuration } from './durations.ts'
import { InvalidInputError } from './errors.ts'
import type { Setting } from './setting-kinds.ts'
import { settingsTable } from './settings.ts'

type Table = typeof settingsTable
type ValueOf<S> = S extends Setting<infer T> ? T : never

/** The settings of one process, read and checked: durations in milliseconds. */
export type Settings = { readonly [Key in keyof Table]: ValueOf<Table[Key]> }

/** An environment, as `process.env` is. */
export type Environment = Readonly<Record<string, string | undefined>>

const keys = Object.keys(settingsTable) as (keyof Table)[]

/**
 * The environment variable of a setting.
 *
 * @example
 * variableName('lockLease') // 'TASKQ_LOCK_LEASE'
 */
export function variableName(key: keyof Table): string {
  return `TASKQ_${key.replaceAll(/[A-Z]/g, letter => `_${letter}`).toUpperCase()}`
}

/**
 * Reads every setting from an environment. The first value that is wrong, by itself or beside another,
 * is an error with `code: 'SETTING_INVALID'` whose `field` is the variable's name.
 */
export function readSettings(environment: Environment): Settings {
  const entries = keys.map(key => [key, readSetting(key, environment[variableName(key)])])
  const settings = Object.fromEntries(entries) as Settings
  checkTogether(settings)
  return settings
}

function readSetting(key: keyof Table, given: string | undefined): unknown {
  const setting: Setting<never> = settingsTable[key] as never
  const source = given ?? setting.fallback
  if (source === undefined) return undefined
  const read = setting.schema.safeParse(source)
  if (read.success) return read.data
  throw new InvalidInputError(
    'SETTING_INVALID',
    variableName(key),
    read.error.issues[0]?.message ?? 'is wrong',
  )
}

/** Writes settings as the environment that reads back to them; absent ones are left out. */
export function writeSettings(settings: Partial<Settings>): Record<string, string> {
  const given = keys.filter(key => settings[key] !== undefined)
  return Object.fromEntries(
    given.map(key => [variableName(key), settingsTable[key].format(settings[key] as never)]),
  )
}

/** Names that begin with `TASKQ_` and are no setting, each with the nearest that is one. */
export function unknownVariables(environment: Environment): { name: string; nearest: string }[] {
  const known = keys.map(variableName)
  return Object.keys(environment)
    .filter(name => name.startsWith('TASKQ_') && !name.startsWith('TASKQ_TEST_') && !known.includes(name))
    .map(name => ({ name, nearest: nearest(name, known) }))
}

/** Refuses names that begin with `TASKQ_` and are no setting, as `SETTING_INVALID`. */
export function refuseUnknownVariables(environment: Environment): void {
  const [unknown] = unknownVariables(environment)
  if (unknown === undefined) return
  const reason =
    unknown.name === 'TASKQ_RECLAIM_EVENT_VISIBILITY_DELAY'
      ? 'there is no such margin: the feed delivers by transaction horizon and needs none'
      : `is no setting; did you mean ${unknown.nearest}?`
  throw new InvalidInputError('SETTING_INVALID', unknown.name, reason)
}

/**
 * The least lease that survives a whole cascade of failed heartbeats: the last good beat, then each
 * further one with its own timeout spent.
 */
export function leaseFloorMs(settings: Settings): number {
  const { heartbeatInterval: beat, heartbeatCommandTimeout: command, maxHeartbeatFailures } = settings
  return Math.max(beat, command) + (maxHeartbeatFailures + 1) * (beat + command)
}

function checkTogether(settings: Settings): void {
  const floor = leaseFloorMs(settings)
  const lease = settings.lockLease
  if (lease < floor) {
    throw new InvalidInputError(
      'SETTING_INVALID',
      'TASKQ_LOCK_LEASE',
      `${formatDuration(lease)} is shorter than the ${formatDuration(floor)} that TASKQ_HEARTBEAT_INTERVAL ` +
        `${formatDuration(settings.heartbeatInterval)}, TASKQ_HEARTBEAT_COMMAND_TIMEOUT ` +
        `${formatDuration(settings.heartbeatCommandTimeout)} and TASKQ_MAX_HEARTBEAT_FAILURES ` +
        `${settings.maxHeartbeatFailures} need`,
    )
  }
  if (settings.cleanupGrace >= lease) {
    throw new InvalidInputError(
      'SETTING_INVALID',
      'TASKQ_CLEANUP_GRACE',
      `${formatDuration(settings.cleanupGrace)} is not below TASKQ_LOCK_LEASE ${formatDuration(lease)}`,
    )
  }
}

function nearest(name: string, known: string[]): string {
  const byDistance = known.map(other => ({ other, distance: editDistance(name, other) }))
  return byDistance.reduce((best, next) => (next.distance < best.distance ? next : best)).other
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
