import { WrongTargetError } from '../../shared/core/errors.ts'
import { roleName } from '../../shared/core/names.ts'
import type { Runner } from '../../shared/sql/connection.ts'
import { withDatabase } from './open-database.ts'
import type { Call } from './verb.ts'

/** An operator's statement touches a few rows, so what takes longer waits for something. */
const statementTimeoutMs = 10_000
/** The role may wait longer for a row than a batch: a batch that holds it is over in two seconds. */
const lockTimeoutMs = 5000
const patienceMs = 2000

/**
 * Runs an operator's statements in one transaction, attested and under timeouts, in the role of maintenance.
 * At the wrong target nothing is run; where one fails nothing is kept.
 */
export function operating<T>({ settings }: Call, work: (transaction: Runner) => Promise<T>): Promise<T> {
  return withDatabase(settings, { queryTimeoutMs: statementTimeoutMs + patienceMs }, async connection => {
    const opened = await connection.openBatch({
      lock: null,
      statementTimeoutMs,
      lockTimeoutMs,
      idleTimeoutMs: settings.idleInTransactionTimeoutMs,
      transactionTimeoutMs: statementTimeoutMs + patienceMs,
      role: roleName(settings, 'maintenance'),
      target: { installationId: settings.installationId, environment: settings.environment },
    })
    if (opened !== 'locked') throw new WrongTargetError(settings.schemaName)
    const done = await work(connection)
    await connection.commit()
    return done
  })
}
