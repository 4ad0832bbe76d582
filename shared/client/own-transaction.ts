import { TaskQError, WrongTargetError } from '../core/errors.ts'
import { type DatabaseRole, roleName } from '../core/names.ts'
import type { Settings } from '../core/read-settings.ts'
import type { BatchOpening, Connection, Runner } from '../sql/connection.ts'
import { classify, clientTimeoutCode, codeOf } from '../sql/failures.ts'
import { callersError } from './failures.ts'

const statementTimeoutMs = 10_000
const transactionTimeoutMs = 60_000

/** What a transaction may take, and with whose rights it runs; what is absent is as for a client's. */
export type OwnBounds = Partial<Omit<BatchOpening, 'lock' | 'target' | 'role'>> & {
  readonly role?: DatabaseRole
}

/**
 * Runs some work in one transaction of ours, attested, under timeouts and with the rights of a role. Where it
 * fails nothing is kept. A statement that can stand alone needs none of this.
 */
export async function inOwnTransaction<T>(
  connection: Connection,
  settings: Settings,
  work: (transaction: Runner) => Promise<T>,
  { role = 'client', ...bounds }: OwnBounds = {},
): Promise<T> {
  const { installationId, environment, schemaName } = settings
  try {
    const opened = await connection.openBatch({
      lock: null,
      statementTimeoutMs,
      lockTimeoutMs: settings.batchLockTimeoutMs,
      idleTimeoutMs: statementTimeoutMs,
      transactionTimeoutMs,
      ...bounds,
      role: roleName(settings, role),
      target: { installationId, environment },
    })
    if (opened === 'wrong_target') throw new WrongTargetError(schemaName)
    const done = await work(connection)
    await connection.commit()
    return done
  } catch (error) {
    await connection.rollback()
    throw error
  }
}

/**
 * Does some work, once more where its connection was lost: a socket that died while the process was frozen
 * says so only now. What was lost may have been committed: the work must know its own traces.
 *
 * @param waitedFor - What a lock that was not had in time is a lock on.
 */
export async function twiceAtMost<T>(work: () => Promise<T>, waitedFor?: string): Promise<T> {
  try {
    return await work().catch(error => {
      if (!isLost(error)) throw error
      return work()
    })
  } catch (error) {
    throw callersError(error, waitedFor)
  }
}

function isLost(error: unknown): boolean {
  if (error instanceof TaskQError) return false
  return classify(error) === 'lost' || codeOf(error) === clientTimeoutCode
}
