import type { Settings } from '../../shared/core/read-settings.ts'
import { type Sweep, wholeWindow } from '../../shared/sweeper/define.ts'
import { openingOf } from '../../shared/sweeper/invocation.ts'
import { openDatabase, type TestDatabase } from '../support/database.ts'
import { insertJobs, type JobColumns } from '../support/jobs.ts'
import { settingsWith, sweepOnce } from '../support/sweeping.ts'

export interface Measured {
  readonly ms: number
  readonly usPerRow: number
  readonly longestBatchMs: number
}

/** What stands in the table before a measurement: rows that are due, and rows that are not. */
export interface Backlog {
  readonly due: JobColumns
  readonly rows: number
  readonly live?: JobColumns
  readonly liveRows?: number
  /** Whether somebody's old snapshot is held open all the while. */
  readonly oldSnapshot?: boolean
}

async function withBacklog<T>(backlog: Backlog, measure: (database: TestDatabase) => Promise<T>): Promise<T> {
  const database = await openDatabase()
  try {
    if (backlog.live !== undefined) await insertJobs(database, backlog.live, backlog.liveRows)
    await insertJobs(database, backlog.due, backlog.rows)
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

/** The same statement over the same backlog, once, with no bound: all writes in one transaction. */
export function measureUnbounded(sweep: Sweep, backlog: Backlog): Promise<Measured> {
  return withBacklog(backlog, async database => {
    const settings = settingsWith()
    const connection = await database.connect({ queryTimeoutMs: 600_000 })
    const beganMs = performance.now()
    const opening = openingOf(sweep, { trigger: 'manual', settings })
    await connection.openBatch({ ...opening, statementTimeoutMs: 600_000, transactionTimeoutMs: 600_000 })
    const args = { ...sweep.args(settings), ...wholeWindow, limit: backlog.rows * 2 }
    const [arm] = sweep.arms
    if (arm === undefined) throw new Error(`${sweep.purpose} has no arm`)
    const [batch] = await connection.run(arm.batch, args)
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
