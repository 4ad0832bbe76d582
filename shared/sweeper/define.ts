import type { Settings } from '../core/read-settings.ts'
import type { Move } from '../core/states.ts'
import { arg, type Fragment, type Statement, sql } from '../sql/statement.ts'
import { int4, text, uuid } from '../sql/types.ts'

/**
 * A scheduled function is data: this object says what it takes, how much of it at a time, how often and
 * why. Its Lambda, rule, alarms, command and documentation are derived from it.
 */
export interface Sweep {
  /** The one name, in snake_case: of file, lock, function, alarm, command and runbook. */
  readonly purpose: string
  /** What becomes true, as a verb phrase. */
  readonly title: string
  /** One paragraph: why it exists and why it is as it is. */
  readonly why: string
  /** Minutes between two starts by its rule. */
  readonly cadenceMinutes: number
  /** How it stays for what falls due inside its window; null: it drains and leaves. */
  readonly pulse: Pulse | null
  /** The setting that bounds the rows of a batch. */
  readonly batchSize: 'eventWriterBatchSize'
  /** The setting that bounds the time of a batch. */
  readonly statementTimeout: 'eventWriterStatementTimeoutMs'
  /** Whether it goes on until a window is not full, or takes one batch a pulse. */
  readonly drains: boolean
  /** Whether aborted batches can latch the reduced tier. */
  readonly breaker: boolean
  /**
   * Whether each batch waits until the server's disk has it. Only a function whose rows tell nobody anything
   * may leave that to its last write, which brings everything before it to the disk: a server that fails in
   * between forgets a few batches, and the next run does them again.
   */
  readonly flushes: boolean
  /** The changes of state that it makes, and no others. */
  readonly moves: readonly Move[]
  /** The index whose key is the window's order and whose predicate is the window's. */
  readonly index: string
  /** The one statement of a batch. */
  readonly batch: Statement<BatchRow, WindowArgs>
  /** Counts what it would take, up to `max`. */
  readonly eligible: Statement<{ eligible: number }, { max: number }>
  /** What the batch needs of the settings, beside its window. */
  readonly args: (settings: Settings) => Readonly<Record<string, unknown>>
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

/** A window: its size, and the key behind which this invocation has been already. */
export interface WindowArgs {
  readonly limit: number
  readonly floorAt: string
  readonly floorId: string
}

/** What one batch answers. */
export interface BatchRow {
  /** Rows that the window took: a full window means that there may be more. */
  taken: number
  /** The key of the window's last row; null where it was empty. */
  floor_at: string | null
  floor_id: string | null
  /** Rows that were changed. */
  acted: number
  /** How many rows of which actor went which way. */
  tally: Tally[]
}

export interface Tally {
  readonly actor: string
  readonly disposition: string
  readonly rows: number
}

/** Before any row: what a drain's first and last windows are asked with. */
export const noFloor = { floorAt: '-infinity', floorId: '00000000-0000-0000-0000-000000000000' } as const

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

type Defined<Extra> = Omit<Sweep, 'batch' | 'args'> & {
  readonly batch: Statement<BatchRow, WindowArgs & Extra>
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
