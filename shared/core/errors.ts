/** Every code that a {@link TaskQError} can carry: stable, closed, and what callers should compare. */
export const errorCodes = [
  'ACTOR_UNKNOWN',
  'CLOUD_REFUSED',
  'DATABASE_UNREACHABLE',
  'EVENT_INVALID',
  'FUNCTION_FAILED',
  'IDEMPOTENCY_CONFLICT',
  'INTERNAL',
  'JOB_ARCHIVED',
  'JOB_NOT_ENDED',
  'JOB_SUCCEEDED',
  'JOB_UNKNOWN',
  'LOCK_TIMEOUT',
  'MIGRATION_FAILED',
  'MIGRATION_LOCKED',
  'NOT_MIGRATED',
  'OPTION_INVALID',
  'PAYLOAD_INVALID',
  'PAYLOAD_TOO_LARGE',
  'PERMISSION_DENIED',
  'SCHEDULE_EXISTS',
  'SCHEDULE_UNKNOWN',
  'SETTING_INVALID',
  'STACK_UNKNOWN',
  'STATEMENT_TIMEOUT',
  'TEXT_INVALID',
  'USAGE',
  'WRONG_TARGET',
] as const

export type ErrorCode = (typeof errorCodes)[number]

/**
 * The base of every error that TaskQ throws. Compare `code`, not the class: two copies of the package
 * in one bundle have two classes but the same codes. `field` names the offending input, if one did.
 *
 * @example
 * try {
 *   await taskq.enqueue(sendReceipt, payload)
 * } catch (error) {
 *   if (isTaskQError(error) && error.code === 'PAYLOAD_TOO_LARGE') return reply(413)
 *   throw error
 * }
 */
export class TaskQError extends Error {
  readonly code: ErrorCode
  readonly field: string | undefined

  constructor(code: ErrorCode, message: string, options: { field?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = code
    this.field = options.field
  }
}

/** A value at a boundary (event, setting, option, payload) that was refused; nothing was written. */
export class InvalidInputError extends TaskQError {
  constructor(code: ErrorCode, field: string, reason: string, options: { cause?: unknown } = {}) {
    super(code, `${field}: ${reason}`, { field, ...options })
  }
}

/** The same idempotency key was enqueued before with another payload. */
export class IdempotencyConflictError extends TaskQError {
  readonly existingId: string

  constructor(key: string, existingId: string) {
    super(
      'IDEMPOTENCY_CONFLICT',
      `idempotencyKey: "${key}" belongs to job ${existingId} with another payload`,
      {
        field: 'idempotencyKey',
      },
    )
    this.existingId = existingId
  }
}

/** The job is in the archive: what is there stays over. */
export class JobArchivedError extends TaskQError {
  readonly id: string

  constructor(id: string, field = 'id') {
    super('JOB_ARCHIVED', `${field}: job ${id} is archived, and stays over: enqueue it anew`, { field })
    this.id = id
  }
}

/** The database is another installation, or another environment, than the settings pin. */
export class WrongTargetError extends TaskQError {
  constructor(schema: string) {
    super(
      'WRONG_TARGET',
      `the installation in schema "${schema}" has no row, or is not the one that ` +
        'TASKQ_INSTALLATION_ID and TASKQ_ENVIRONMENT name',
    )
  }
}

/** True for a TaskQ error of any copy of the package. */
export function isTaskQError(error: unknown): error is TaskQError {
  return error instanceof Error && 'code' in error && (errorCodes as readonly unknown[]).includes(error.code)
}
