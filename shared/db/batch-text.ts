import type { BatchOpened, BatchOpening } from '../sql/connection.ts'
import { quoteIdentifier, quoteLiteral } from '../sql/statement.ts'

/**
 * How a batch is opened, in text, because it travels in a message of several statements:
 *
 *     begin | commit and chain
 *     select local settings, and then the try-lock, from installation where the pins match
 *
 * Settings and lock stand in the target list: where no installation matches, neither is touched. In the
 * WHERE clause the lock would be taken all the same. `transaction_timeout` is set to 0 first, because a
 * running one is not armed anew, and only where the server has it.
 */
export const beginText = 'begin isolation level read committed read write'
export const chainText = 'commit and chain'

/** The SELECT that configures a batch's transaction, takes its lock and attests its target. */
export function openingText(schema: string, opening: BatchOpening): string {
  const { installationId, environment } = opening.target
  const lock =
    opening.lock === null
      ? 'true'
      : `pg_try_advisory_xact_lock(hashtextextended(${quoteLiteral(opening.lock)}, 0))`
  const pins = [
    installationId === undefined ? [] : `installation_id = ${quoteLiteral(installationId)}`,
    environment === undefined ? [] : `environment = ${quoteLiteral(environment)}`,
  ].flat()
  return `select ${local('statement_timeout', `${opening.statementTimeoutMs}ms`)},
    ${local('lock_timeout', `${opening.lockTimeoutMs}ms`)},
    ${local('idle_in_transaction_session_timeout', `${opening.idleTimeoutMs}ms`)},
    ${local('jit', 'off')},
    ${opening.flushes === false ? `${local('synchronous_commit', 'off')},` : ''}
    ${opening.lock === null ? '' : `${walkTheIndex},`}
    case when current_setting('server_version_num')::int >= 170000
      then ${local('transaction_timeout', '0')}
        || ${local('transaction_timeout', `${opening.transactionTimeoutMs}ms`)}
    end,
    ${lock} as locked
  from ${quoteIdentifier(schema)}.installation
  where ${pins.length === 0 ? 'true' : pins.join(' and ')}`
}

/**
 * A window is the head of its own index. On a table that was never analyzed, new or just restored, the
 * planner expects a handful of rows where there are many, and sorts all that are due for each batch: 50,000
 * took 24 s instead of 4 s. Without bitmaps it walks the index in its order.
 */
const walkTheIndex = local('enable_bitmapscan', 'off')

function local(setting: string, value: string): string {
  return `set_config('${setting}', ${quoteLiteral(value)}, true)`
}

/** What the opening's rows say. */
export function openedBy(rows: readonly unknown[]): BatchOpened {
  const [row] = rows as { locked: boolean }[]
  if (row === undefined) return 'wrong_target'
  return row.locked ? 'locked' : 'contended'
}
