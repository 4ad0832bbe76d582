/**
 * What a failed statement means for the work that it was part of.
 *
 * - `transient`: a deadlock, a serialization failure or a lock wait that ended; worth another try.
 * - `timeout`: the server or the client gave the batch up; the same size would only fail again.
 * - `idle`: the server ended a transaction that sat between statements.
 * - `lost`: the connection is gone.
 * - `fault`: everything else, a defect or a bad row.
 */
export type Failure = 'transient' | 'timeout' | 'idle' | 'lost' | 'fault'

/** Stands in `code` where a client gave a statement up before the server answered. */
export const clientTimeoutCode = 'CLIENT_TIMEOUT'

/** A session that stayed with a server which is the writer no longer. */
const readOnlySession = '25006'

const failureByCode: Readonly<Record<string, Failure>> = {
  '40001': 'transient',
  '40P01': 'transient',
  '55P03': 'transient',
  '57014': 'timeout',
  '25P04': 'timeout',
  [clientTimeoutCode]: 'timeout',
  '25P03': 'idle',
  '57P01': 'lost',
  '57P02': 'lost',
  '57P03': 'lost',
  [readOnlySession]: 'lost',
  ECONNREFUSED: 'lost',
  ECONNRESET: 'lost',
  EPIPE: 'lost',
  ETIMEDOUT: 'lost',
  ENOTFOUND: 'lost',
  EAI_AGAIN: 'lost',
  ENOENT: 'lost',
}

/** The SQLSTATE or system code of an error of any driver. */
export function codeOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

/**
 * The function, a trigger's mostly, inside which the server raised an error, as it tells it; undefined where
 * our own statement failed.
 *
 * @example
 * raisedWithin(error) // 'PL/pgSQL function audit() line 3 at SQL statement'
 */
export function raisedWithin(error: unknown): string | undefined {
  const where = typeof error === 'object' && error !== null && 'where' in error ? error.where : undefined
  return typeof where === 'string' && where !== '' ? where.split('\n', 1)[0] : undefined
}

/** Sorts an error of any driver. */
export function classify(error: unknown): Failure {
  const code = codeOf(error)
  if (code === undefined) {
    const message = error instanceof Error ? error.message : ''
    return /connection terminated|connection error|not queryable|timeout expired/i.test(message)
      ? 'lost'
      : 'fault'
  }
  const failure = code.startsWith('08') ? 'lost' : (failureByCode[code] ?? 'fault')
  // A trigger may raise what it likes: only the server itself ends a session.
  const isRaised = failure === 'lost' && code !== readOnlySession && raisedWithin(error) !== undefined
  return isRaised ? 'fault' : failure
}

/**
 * Classes of SQLSTATE that speak of the server, the session or the statement, and so of every row alike:
 * features, transaction states, roles, names, syntax, resources, the operator, the system, and internals.
 */
const classesOfNoRow = ['0A', '25', '28', '3D', '3F', '42', '53', '55', '57', '58', 'F0', 'XX']

/**
 * Whether a fault may be that of one row: a value or a constraint that the server refused, or whatever a
 * trigger came to, which runs for a row and may well miss the table of one tenant.
 */
export function isOfOneRow(error: unknown): boolean {
  const code = codeOf(error) ?? ''
  if (!/^[0-9A-Z]{5}$/.test(code)) return false
  return raisedWithin(error) !== undefined || !classesOfNoRow.includes(code.slice(0, 2))
}
