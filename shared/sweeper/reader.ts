import { isTaskQError } from '../core/errors.ts'
import { type DatabaseRole, roleName } from '../core/names.ts'
import type { Settings } from '../core/read-settings.ts'
import type { BatchOpening } from '../sql/connection.ts'
import { classify } from '../sql/failures.ts'
import type { Statement } from '../sql/statement.ts'
import { refuse } from './batch.ts'
import { revive, type Session } from './session.ts'

/** How much longer than its statement a transaction may live, on servers that bound it. */
const transactionSlackMs = 750

/** What one statement was answered with. */
export type Answered<Row> = { readonly rows: readonly Row[] } | { readonly error: unknown }

/** How a reader goes about it. */
export interface ReaderPlan {
  readonly settings: Settings
  readonly statementTimeoutMs: number
}

/**
 * Reads one thing after the other, each in a short transaction of its own that is attested as every batch and
 * takes no lock: what cannot be read takes nothing else along, and no snapshot is older than one statement.
 * A connection that was lost is replaced once in a reader's life; the second time it is thrown.
 */
export class Reader {
  readonly #session: Session
  readonly #plan: ReaderPlan
  #isReplaced = false

  constructor(session: Session, plan: ReaderPlan) {
    this.#session = session
    this.#plan = plan
  }

  /**
   * Answers a statement's rows, or the error that the server gave it. Throws what is no single statement's:
   * no connection, or the wrong target.
   */
  async read<Row, Args>(
    statement: Statement<Row, Args>,
    args: Args,
    role: DatabaseRole | null,
  ): Promise<Answered<Row>> {
    for (;;) {
      await revive(this.#session)
      try {
        return { rows: await this.#once(statement, args, role) }
      } catch (error) {
        if (isTaskQError(error)) throw error
        if (classify(error) !== 'lost') return { error }
        if (this.#isReplaced) throw error
        this.#isReplaced = true
      }
    }
  }

  async #once<Row, Args>(statement: Statement<Row, Args>, args: Args, role: DatabaseRole | null) {
    const { connection } = this.#session
    try {
      refuse(await connection.openBatch(readOpening(this.#plan, role)), connection)
      return await connection.run(statement, args)
    } finally {
      await connection.rollback()
    }
  }
}

/** How the transaction of one read is opened. */
export function readOpening(
  { settings, statementTimeoutMs }: ReaderPlan,
  role: DatabaseRole | null,
): BatchOpening {
  return {
    lock: null,
    onlyReads: true,
    statementTimeoutMs,
    lockTimeoutMs: settings.batchLockTimeoutMs,
    idleTimeoutMs: settings.idleInTransactionTimeoutMs,
    transactionTimeoutMs: statementTimeoutMs + transactionSlackMs,
    ...(role !== null && { role: roleName(settings, role) }),
    target: { installationId: settings.installationId, environment: settings.environment },
  }
}
