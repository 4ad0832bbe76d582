import { callersError } from '../../client/failures.ts'
import { inOwnTransaction } from '../../client/own-transaction.ts'
import { TaskQError } from '../../core/errors.ts'
import type { DatabaseRole } from '../../core/names.ts'
import type { Settings } from '../../core/read-settings.ts'
import type { Connection, Runner } from '../../sql/connection.ts'
import { classify } from '../../sql/failures.ts'

/** A verb touches a row or a batch of jobs, so what takes longer waits for something. */
const statementTimeoutMs = 10_000
const patienceMs = 2000

/**
 * Runs some work in one transaction, attested and under timeouts, with the rights of a role. Nothing is kept
 * where it fails: `WRONG_TARGET`, `NOT_MIGRATED`, `LOCK_TIMEOUT` where another transaction holds a schedule
 * for longer than a tick may, and what the work throws.
 */
export async function inScheduleTransaction<T>(
  connection: Connection,
  settings: Settings,
  role: DatabaseRole,
  work: (transaction: Runner) => Promise<T>,
): Promise<T> {
  const statementMs = Math.max(statementTimeoutMs, settings.cronTickTimeoutMs + patienceMs)
  try {
    return await inOwnTransaction(connection, settings, work, {
      role,
      statementTimeoutMs: statementMs,
      // A tick that holds the row is over by then.
      lockTimeoutMs: settings.cronTickTimeoutMs,
      idleTimeoutMs: settings.idleInTransactionTimeoutMs,
      transactionTimeoutMs: 2 * statementMs,
    })
  } catch (error) {
    if (error instanceof TaskQError || classify(error) !== 'transient') throw callersError(error)
    const reason = 'another open transaction holds the schedule: end it, or try again'
    throw new TaskQError('LOCK_TIMEOUT', reason, { cause: error })
  }
}
