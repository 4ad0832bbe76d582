import type { Settings } from '../core/read-settings.ts'
import type { Move } from '../core/states.ts'
import { arg, type Fragment, literal, type Statement, schema, sql } from '../sql/statement.ts'
import { int4, text, uuid } from '../sql/types.ts'
import type { Scheduled } from './scheduled.ts'

/**
 * A scheduled function that changes rows in committed batches, whatever its batches are: what an invocation
 * of it, its Lambda, its rule and its commands need to know.
 */
export interface Routine extends Scheduled {
  /** How it stays for what falls due inside its window; null: it drains and leaves. */
  readonly pulse: Pulse | null
  /** The setting that bounds the rows of a batch. */
  readonly batchSize: 'eventWriterBatchSize' | 'keyedRowReclaimBatchSize' | 'cronTickLimit'
  /** The setting that bounds the time of a batch. */
  readonly statementTimeout:
    | 'eventWriterStatementTimeoutMs'
    | 'retentionStatementTimeoutMs'
    | 'cronTickTimeoutMs'
  /** The setting whose zero switches it off; null: there is none. */
  readonly offAtZero: 'keyedRowReclaimPeriod' | null
  /** Whether it goes on until a window is not full, or takes one batch of each arm. */
  readonly drains: boolean
  /** Whether aborted batches can latch the reduced tier. */
  readonly breaker: boolean
  /**
   * Whether each batch waits until the server's disk has it. Only a function whose rows tell nobody anything
   * may leave that to its last write, which brings everything before it to the disk: a server that fails in
   * between forgets a few batches, and the next run does them again.
   */
  readonly flushes: boolean
  /** What its statements need of the settings, beside their window. */
  readonly args: (settings: Settings) => Readonly<Record<string, unknown>>
  /** The changes of a job's state that it makes, and no others. */
  readonly moves: readonly Move[]
}

/**
 * A routine whose batches are windows over tables is data alone: this object says what it takes, how much of
 * it at a time, how often and why, and the engine does it.
 */
export interface Sweep extends Routine {
  /** Finds the next row of a window, so that one that fails by itself can be set aside; null: it is not. */
  readonly head: Statement<{ id: string }, WindowArgs> | null
  /** What it takes, a table each, in this order; each batch is of one arm. */
  readonly arms: readonly Arm[]
}

/** The rows of one table that a function takes. */
export interface Arm {
  readonly table: string
  /** The index whose key is the window's order and whose predicate is the window's. */
  readonly index: string
  /** The one statement of a batch. */
  readonly batch: Statement<BatchRow, WindowArgs>
  /** Counts what it would take, up to `max`. */
  readonly eligible: Statement<{ eligible: number }, { max: number }>
}

export interface Pulse {
  /**
   * Milliseconds until the next row falls due by the database's clock, of those that fall due after a given
   * instant; below 0 where one has since, null where none is known.
   */
  readonly untilNext: Statement<{ ms: number | null }, { after: string }>
  /** The setting below which two pulses never follow each other; null: as soon as something is due. */
  readonly interval: 'sweepInterval' | null
}

/** A window: its size, the key behind which this invocation has been already, and the one row it may take. */
export interface WindowArgs {
  readonly limit: number
  readonly floorAt: string
  readonly floorId: string
  /** The one row that it may take; null: all. */
  readonly only: string | null
}

/** What one batch answers. */
export interface BatchRow {
  /** Rows that the window took: a full window means that there may be more. */
  taken: number
  /** The key of the window's last row; null where it was empty, or where the window knows no floor. */
  floor_at: string | null
  floor_id: string | null
  /** Rows that were changed. */
  acted: number
  /** How many rows of which actor went which way. */
  tally: Tally[]
}

export interface Tally {
  /** Null where the row is no job. */
  readonly actor: string | null
  readonly disposition: string
  readonly rows: number
}

/** From before any row on: what a drain's first and last windows are asked with. */
export const wholeWindow = {
  floorAt: '-infinity',
  floorId: '00000000-0000-0000-0000-000000000000',
  only: null,
} as const

/** The bound of a window. */
export const limit = arg('limit', int4)

/**
 * Keeps a window behind the rows that this invocation has had. It spares the walk over their dead index
 * entries, which an old snapshot anywhere keeps from being cleaned. Correctness needs no floor: each row
 * that a window takes leaves the eligible set.
 *
 * @example
 * floor(sql`scheduled_at`) // (scheduled_at, id) > ($2::text::timestamptz, $3::uuid)
 */
export function floor(key: Fragment<unknown>) {
  return sql`(${key}, id) > (${arg('floorAt', text)}::timestamptz, ${arg('floorId', uuid)})`
}

/**
 * The same for rows without a uuid: behind an instant alone, at which it looks again.
 *
 * @example
 * floorAt(sql`lease_expires_at`) // lease_expires_at >= $2::text::timestamptz
 */
export function floorAt(key: Fragment<unknown>) {
  return sql`${key} >= ${arg('floorAt', text)}::timestamptz`
}

/**
 * Leaves out the rows that a function has set aside because each failed by itself, until their time comes.
 * Every user of the function's window shares it, the repair of an empty claim too. It must stay a hashed
 * `not in` over text: other forms differ by hundreds of milliseconds where many rows are due.
 *
 * @example
 * notSetAside('promotion') // id::text not in (select row_key from taskq.sweep_quarantine where …)
 */
export function notSetAside(purpose: string) {
  return sql`id::text not in (
      select row_key from ${schema}.sweep_quarantine
      where function = ${literal(purpose)} and until > statement_timestamp())`
}

/** The one row of a window that may be taken, where one is named: how a failing row is told from others. */
export const only = sql`(${arg('only', uuid.orNull)} is null or id = ${arg('only', uuid.orNull)})`

type Defined<Extra> = Omit<Sweep, 'arms' | 'args' | 'head'> & {
  readonly arms: readonly (Omit<Arm, 'batch' | 'eligible'> & {
    readonly batch: Statement<BatchRow, WindowArgs & Extra>
    readonly eligible: Statement<{ eligible: number }, { max: number } & Extra>
  })[]
  readonly head: Statement<{ id: string }, WindowArgs & Extra> | null
  readonly args: (settings: Settings) => Extra
}

/**
 * Defines a scheduled function. The result is frozen.
 *
 * @example
 * export const promotion = defineSweep({ purpose: 'promotion', title: 'Promotes due jobs', … })
 */
export function defineSweep<Extra extends Readonly<Record<string, unknown>>>(sweep: Defined<Extra>): Sweep {
  return Object.freeze(sweep) as unknown as Sweep
}
