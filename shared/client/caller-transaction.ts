import { InvalidInputError } from '../core/errors.ts'
import type { Queryable } from '../sql/connection.ts'

/**
 * A transaction of the caller's, checked: a `pg` client, a client of a pool, a Neon client, or anything
 * with `query(text, values)`. A pool is refused, for it would run each statement on any connection, in no
 * transaction at all.
 */
export function callerTransaction(given: unknown): Queryable {
  const { query } = (given ?? {}) as Partial<Queryable>
  if (typeof query !== 'function') {
    throw new InvalidInputError('OPTION_INVALID', 'tx', 'has no query(text, values), as a pg client has')
  }
  if ('totalCount' in (given as object) && 'idleCount' in (given as object)) {
    throw new InvalidInputError(
      'OPTION_INVALID',
      'tx',
      'is a pool: pass the client that began the transaction',
    )
  }
  return given as Queryable
}

const savepoint = 'taskq_enqueue'

/**
 * Runs statements that are stored together or not at all, inside the caller's transaction. A failure takes
 * back what they did and leaves the transaction usable; where it was none, the savepoint fails and nothing
 * is stored.
 */
export async function allOrNothing<T>(tx: Queryable, work: () => Promise<T>): Promise<T> {
  await tx.query(`savepoint ${savepoint}`, [])
  try {
    const result = await work()
    await tx.query(`release savepoint ${savepoint}`, [])
    return result
  } catch (error) {
    await undo(tx)
    throw error
  }
}

async function undo(tx: Queryable): Promise<void> {
  try {
    await tx.query(`rollback to savepoint ${savepoint}`, [])
    await tx.query(`release savepoint ${savepoint}`, [])
  } catch {
    // The connection is gone, and the transaction with it: the first error is the one to tell.
  }
}
