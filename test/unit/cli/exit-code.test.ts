import { describe, expect, test } from 'vitest'
import { exitCodeOf, knownError } from '../../../functions/cli/exit-code.ts'
import { errorCodes, TaskQError } from '../../../shared/core/errors.ts'

const exitOf = (error: unknown) => exitCodeOf(knownError(error, 'taskq'))

describe('a failure ends with the exit code of its kind', () => {
  test.each([
    ['ACTOR_UNKNOWN', 1],
    ['CLOUD_REFUSED', 1],
    ['DATABASE_UNREACHABLE', 3],
    ['EVENT_INVALID', 2],
    ['FUNCTION_FAILED', 1],
    ['IDEMPOTENCY_CONFLICT', 1],
    ['INTERNAL', 1],
    ['JOB_ARCHIVED', 1],
    ['JOB_NOT_ENDED', 1],
    ['JOB_SUCCEEDED', 1],
    ['JOB_UNKNOWN', 1],
    ['LOCK_TIMEOUT', 1],
    ['MIGRATION_FAILED', 1],
    ['MIGRATION_LOCKED', 1],
    ['NOT_MIGRATED', 1],
    ['OPTION_INVALID', 2],
    ['PAYLOAD_INVALID', 2],
    ['PAYLOAD_TOO_LARGE', 2],
    ['SCHEDULE_EXISTS', 1],
    ['SCHEDULE_UNKNOWN', 1],
    ['SETTING_INVALID', 2],
    ['STACK_UNKNOWN', 1],
    ['STATEMENT_TIMEOUT', 1],
    ['PERMISSION_DENIED', 1],
    ['TEXT_INVALID', 2],
    ['USAGE', 2],
    ['WRONG_TARGET', 4],
  ] as const)('%s: %i', (code, exit) => {
    expect(exitOf(new TaskQError(code, 'because'))).toBe(exit)
  })

  test('and every code has one that somebody chose', () => {
    expect(errorCodes).toHaveLength(27)
  })
})

describe('an error of the driver is told in our words', () => {
  test('a missing table or schema: nobody has migrated', () => {
    const error = knownError(Object.assign(new Error('no such relation'), { code: '42P01' }), 'jobs')
    expect(error).toMatchObject({ code: 'NOT_MIGRATED', message: expect.stringContaining('schema "jobs"') })
  })

  test('a lost connection: unreachable', () => {
    expect(exitOf(Object.assign(new Error('terminated'), { code: '57P01' }))).toBe(3)
    expect(exitOf(new Error('Connection terminated unexpectedly'))).toBe(3)
  })

  test('a grant that is missing: whose member the login must be', () => {
    const error = knownError(Object.assign(new Error('denied'), { code: '42501' }), 'taskq')
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringContaining('a member') })
    expect(exitCodeOf(error)).toBe(1)
  })

  test('anything else: failed, with the state that the server gave', () => {
    const error = knownError(Object.assign(new Error('odd'), { code: 'XX000' }), 'taskq')
    expect(error.message).toBe('odd (XX000)')
    expect(exitCodeOf(error)).toBe(1)
    expect(exitOf('not even an error')).toBe(1)
  })
})

test('what a trigger came to is told with the trigger, and is no missing migration', () => {
  const where = 'PL/pgSQL function audit() line 3 at SQL statement\nSQL statement "select"'
  const missing = Object.assign(new Error('relation "tenant_77" does not exist'), { code: '42P01', where })
  const told = knownError(missing, 'taskq')
  expect(told.code).toBe('INTERNAL')
  expect(told.message).toBe(
    'relation "tenant_77" does not exist (42P01) in PL/pgSQL function audit() line 3 at SQL statement',
  )
})
