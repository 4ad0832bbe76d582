import { TaskQError } from '../core/errors.ts'
import { classify, codeOf, raisedWithin } from '../sql/failures.ts'

const unmigrated = ['3F000', '42P01', '42883']

/** A login that lacks a grant, as one that says whose member it must be; undefined for any other error. */
export function permissionDenied(error: unknown): TaskQError | undefined {
  if (codeOf(error) !== '42501') return undefined
  const within = raisedWithin(error)
  const message = error instanceof Error ? error.message : 'permission denied'
  const said = within === undefined ? message : `${message} (in ${within})`
  const next = 'make the login a member, with inherit, of the role that may (docs/database.md)'
  return new TaskQError('PERMISSION_DENIED', `${said}: ${next}`, { cause: error })
}

/**
 * An error of the database's as one that says what the caller can do; others stay as they are.
 *
 * @param waitedFor - What another transaction does that a lock was not had in time for.
 */
export function callersError(error: unknown, waitedFor = 'holds the same idempotency key'): unknown {
  if (error instanceof TaskQError) return error
  const code = codeOf(error)
  const cause = { cause: error }
  if (code === '55P03') {
    return new TaskQError('LOCK_TIMEOUT', `another open transaction ${waitedFor}`, cause)
  }
  if (code !== undefined && unmigrated.includes(code)) {
    return new TaskQError(
      'NOT_MIGRATED',
      'the schema is missing or older than this client: migrate it',
      cause,
    )
  }
  if (classify(error) === 'timeout') {
    return new TaskQError('STATEMENT_TIMEOUT', 'the database did not answer in time', cause)
  }
  if (classify(error) === 'lost') {
    return new TaskQError('DATABASE_UNREACHABLE', 'the connection to the database was lost', cause)
  }
  return permissionDenied(error) ?? error
}
