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
 * running one is not armed anew, and only where the server has it. The role comes last: the transaction has
 * no more rights than its part needs, whoever logged in.
 */
export const beginText = 'begin isolation level read committed read write'
export const chainText = 'commit and chain'

/**
 * The SELECT that configures a batch's transaction, takes its lock and attests its target. `mayAssume`: what
 * an opening before this one has found of its role.
 */
export function openingText(schema: string, opening: BatchOpening, mayAssume?: boolean): string {
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
    ${opening.lock === null && opening.onlyReads !== true ? '' : `${walkTheIndex},`}
    ${opening.onlyReads === true ? `${readOnly},` : ''}
    case when current_setting('server_version_num')::int >= 170000
      then ${local('transaction_timeout', '0')}
        || ${local('transaction_timeout', `${opening.transactionTimeoutMs}ms`)}
    end,
    ${lock} as locked${
      opening.role === undefined
        ? ''
        : `,
    ${assume(opening.role, mayAssume)} as role`
    }
  from ${quoteIdentifier(schema)}.installation
  where ${pins.length === 0 ? 'true' : pins.join(' and ')}`
}

/**
 * A window is the head of its own index. On a table that was never analyzed, new or just restored, the
 * planner expects a handful of rows where there are many, and sorts all that are due for each batch: 50,000
 * took 24 s instead of 4 s. Without bitmaps it walks the index in its order.
 */
const walkTheIndex = local('enable_bitmapscan', 'off')

/**
 * A count that stops early must not have read all that there is before it began, as a scan and a sort do.
 * That nothing is written is the server's to see to: the role may.
 */
const readOnly = `${local('enable_seqscan', 'off')}, ${local('transaction_read_only', 'on')}`

/**
 * Assumes a role where it exists and the login may: on 16 and later, memberships say so each by itself. What
 * a connection has found it keeps, since the question costs a small batch a tenth of its time.
 */
function assume(role: string, may: boolean | undefined): string {
  if (may !== undefined) return may ? local('role', role) : 'null'
  const right = `case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end`
  return `(select set_config('role', rolname, true) from pg_catalog.pg_roles
      where rolname = ${quoteLiteral(role)} and pg_has_role(oid, ${right}))`
}

function local(setting: string, value: string): string {
  return `set_config('${setting}', ${quoteLiteral(value)}, true)`
}

/** What the opening's row says; no row: it is another installation. */
export function openedBy(row: OpeningRow | undefined): BatchOpened {
  if (row === undefined) return 'wrong_target'
  return row.locked ? 'locked' : 'contended'
}

export interface OpeningRow {
  readonly locked: boolean
  /** The role that was assumed; null: the login may not, or there is none. */
  readonly role?: string | null
}
