import { bind, render, type Statement } from './statement.ts'

/** What a batch's transaction is opened with: its settings, its lock and the installation it must find. */
export interface BatchOpening {
  /** The advisory lock's name, or null for a batch that takes none. */
  readonly lock: string | null
  readonly statementTimeoutMs: number
  readonly lockTimeoutMs: number
  readonly idleTimeoutMs: number
  /** Stands on servers that have `transaction_timeout` (17 and later). */
  readonly transactionTimeoutMs: number
  /** The role that its transaction assumes where the login is a member; absent: it stays the login. */
  readonly role?: string
  /** Whether the server refuses every write in it, and reads no table whole that an index leads through. */
  readonly onlyReads?: boolean
  /** False: its commit does not wait for the server's disk. Absent or true: it does as the server is set. */
  readonly flushes?: boolean
  readonly target: Target
}

/** The pins of an installation; an absent one is not compared. */
export interface Target {
  readonly installationId: string | undefined
  readonly environment: string | undefined
}

/** What opening a batch found: its lock, the lock held elsewhere, or the wrong database. */
export type BatchOpened = 'locked' | 'contended' | 'wrong_target'

/** Anything that runs one parameterized statement: a pg client, a Neon client, a caller's transaction. */
export interface Queryable {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>
}

/** Runs statements, each in a transaction of its own unless a batch is open. */
export interface Runner {
  run<Row, Args>(statement: Statement<Row, Args>, args: Args): Promise<Row[]>
}

/**
 * One connection of ours. The adapters in shared/db make it; every room below them knows only this.
 *
 * A batch is opened, runs one statement, and is then committed, or chained: the commit and the next
 * batch's opening travel in one message.
 */
export interface Connection extends Runner {
  readonly schema: string
  /** False once the server or the network ended it, or a timeout left it unknown: throw it away. */
  readonly usable: boolean
  openBatch(opening: BatchOpening): Promise<BatchOpened>
  chainBatch(opening: BatchOpening): Promise<BatchOpened>
  commit(): Promise<void>
  /** Never throws: a connection that cannot roll back is unusable, and its transaction ends with it. */
  rollback(): Promise<void>
  close(): Promise<void>
}

/** Runs a statement on anything that takes text and values. */
export async function runOn<Row, Args>(
  queryable: Queryable,
  schema: string,
  statement: Statement<Row, Args>,
  args: Args,
): Promise<Row[]> {
  const { text, parameters } = render(statement.fragment, schema)
  const { rows } = await queryable.query(text, bind(parameters, args))
  return rows as Row[]
}
