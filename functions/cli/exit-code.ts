import { permissionDenied } from '../../shared/client/failures.ts'
import { type ErrorCode, isTaskQError, TaskQError } from '../../shared/core/errors.ts'
import { classify, codeOf, raisedWithin } from '../../shared/sql/failures.ts'

/** How a command ends, as a script reads it. */
export const exitCodes = { done: 0, failed: 1, usage: 2, unreachable: 3, wrongTarget: 4 } as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** What is refused before anything is asked of the database: the caller's own words. */
const refusals: readonly ErrorCode[] = [
  'EVENT_INVALID',
  'OPTION_INVALID',
  'PAYLOAD_INVALID',
  'PAYLOAD_TOO_LARGE',
  'SETTING_INVALID',
  'TEXT_INVALID',
  'USAGE',
]

/** The exit code of a command that failed with this error. */
export function exitCodeOf(error: TaskQError): ExitCode {
  if (refusals.includes(error.code)) return exitCodes.usage
  if (error.code === 'DATABASE_UNREACHABLE') return exitCodes.unreachable
  return error.code === 'WRONG_TARGET' ? exitCodes.wrongTarget : exitCodes.failed
}

/** Undefined table, undefined schema, undefined function: nobody has migrated this schema. */
const notMigrated = ['42P01', '3F000', '42883']

/** Any failure as an error of ours, with the next step where one is known. */
export function knownError(error: unknown, schema: string): TaskQError {
  if (isTaskQError(error)) return error
  const message = error instanceof Error ? error.message : String(error)
  const state = codeOf(error)
  const within = raisedWithin(error)
  if (notMigrated.includes(state ?? '') && within === undefined) {
    const next = `run "taskq migrate", or name another schema with --schema`
    return new TaskQError('NOT_MIGRATED', `schema "${schema}" is not migrated (${message}): ${next}`, {
      cause: error,
    })
  }
  if (classify(error) === 'lost') {
    return new TaskQError('DATABASE_UNREACHABLE', `the connection was lost: ${message}`, { cause: error })
  }
  const denied = permissionDenied(error)
  if (denied !== undefined) return denied
  const told = [message, state && `(${state})`, within && `in ${within}`].filter(Boolean).join(' ')
  return new TaskQError('INTERNAL', told, { cause: error })
}
