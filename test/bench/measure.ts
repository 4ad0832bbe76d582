import type { Settings } from '../../shared/core/read-settings.ts'
import { type Arm, type Sweep, wholeWindow } from '../../shared/sweeper/define.ts'
import { openingOf } from '../../shared/sweeper/invocation.ts'
import { openDatabase, type TestDatabase } from '../support/database.ts'
import { insertJobs } from '../support/jobs.ts'
import { insertRows, type Kind } from '../support/rows.ts'
import { settingsWith, sweepOnce } from '../support/sweeping.ts'

export interface Measured {
  readonly ms: number
  readonly usPerRow: number
  readonly longestBatchMs: number
}

/** What stands in an arm's table before a measurement: rows that are due, and rows that are not. */
export interface Backlog {
  readonly arm: Arm
  readonly due: Kind
  readonly rows: number
  readonly live?: Kind
  readonly liveRows?: number
  /** Whether somebody's old snapshot is held open all the while. */
  readonly oldSnapshot?: boolean
}

async function withBacklog<T>(backlog: Backlog, measure: (database: TestDatabase) => Promise<T>): Promise<T> {
  const database = await openDatabase()
  try {
    if (backlog.live !== undefined) await insert(database, backlog.arm, backlog.live, backlog.liveRows ?? 0)
    await insert(database, backlog.arm, backlog.due, backlog.rows)
    await database.rows('vacuum analyze')
    if (backlog.oldSnapshot === true) {
      const holder = await database.client()
      await holder.query('begin isolation level repeatable read')
      await holder.query('select count(*) from taskq.installation')
    }
    await database.rows('checkpoint')
    return await measure(database)
  } finally {
    await database.close()
  }
}

async function insert(database: TestDatabase, { table }: Arm, kind: Kind, rows: number): Promise<void> {
  if (typeof kind === 'function') await kind(database, rows)
  else if (table === 'jobs') await insertJobs(database, kind, rows)
  else await insertRows(database, table, kind, rows)
}

/** One invocation over a backlog, in committed batches. */
export function measureDrain(
  sweep: Sweep,
  backlog: Backlog,
  settings: Partial<Settings> = {},
): Promise<Measured> {
  return withBacklog(backlog, async database => {
    const beganMs = performance.now()
    const { rows, longestBatchMs, outcome } = await sweepOnce(database, sweep, {
      settings,
      request: { maxBatches: 1_000_000 },
    })
    const ms = performance.now() - beganMs
    if (rows !== backlog.rows || outcome !== 'drained') throw new Error(`drained ${rows} rows: ${outcome}`)
    return { ms, usPerRow: (ms * 1000) / rows, longestBatchMs }
  })
}

/**
 * The same for a function that does not drain, where an invocation would be one batch and all that is around
 * it: its batches one after the other, opened and committed as an invocation does.
 */
export function measureBatches(sweep: Sweep, backlog: Backlog, limit: number): Promise<Measured> {
  return withBacklog(backlog, async database => {
    const settings = settingsWith()
    const opening = openingOf(sweep, { trigger: 'manual', settings })
    const connection = await database.connect()
    const beganMs = performance.now()
    let rows = 0
    let longestBatchMs = 0
    for (let isOver = false; !isOver; ) {
      const begunMs = performance.now()
      await connection.openBatch(opening)
      const args = { ...sweep.args(settings), ...wholeWindow, limit }
      const [batch] = await connection.run(backlog.arm.batch, args)
      await connection.commit()
      rows += batch?.acted ?? 0
      isOver = (batch?.taken ?? 0) < limit
      longestBatchMs = Math.max(longestBatchMs, performance.now() - begunMs)
    }
    const ms = performance.now() - beganMs
    if (rows !== backlog.rows) throw new Error(`changed ${rows} rows`)
    return { ms, usPerRow: (ms * 1000) / rows, longestBatchMs: Math.round(longestBatchMs * 100) / 100 }
  })
}

/** The same statement over the same backlog, once, with no bound: all writes in one transaction. */
export function measureUnbounded(sweep: Sweep, backlog: Backlog): Promise<Measured> {
  return withBacklog(backlog, async database => {
    const settings = settingsWith()
    const connection = await database.connect({ queryTimeoutMs: 600_000 })
    const beganMs = performance.now()
    const opening = openingOf(sweep, { trigger: 'manual', settings })
    await connection.openBatch({ ...opening, statementTimeoutMs: 600_000, transactionTimeoutMs: 600_000 })
    const args = { ...sweep.args(settings), ...wholeWindow, limit: backlog.rows * 2 }
    const [batch] = await connection.run(backlog.arm.batch, args)
    await connection.commit()
    const ms = performance.now() - beganMs
    if (batch?.acted !== backlog.rows) throw new Error(`changed ${batch?.acted} rows`)
    return { ms, usPerRow: (ms * 1000) / backlog.rows, longestBatchMs: ms }
  })
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
