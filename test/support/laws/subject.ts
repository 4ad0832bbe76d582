import { it } from 'vitest'
import type { Settings } from '../../../shared/core/read-settings.ts'
import type { Arm, Sweep } from '../../../shared/sweeper/define.ts'
import type { RunResult } from '../../../shared/sweeper/result.ts'
import { openDatabase, type TestDatabase } from '../database.ts'
import { insertJobs } from '../jobs.ts'
import { insertRows, type Kind, keyOf, snapshotOf } from '../rows.ts'
import { type SweepOptions, sweepOnce } from '../sweeping.ts'

/** What a scheduled function is held to the laws with: rows that it must take, and their look-alikes. */
export interface Subject {
  readonly sweep: Sweep
  /** The arm whose rows they are; the only one where it has one. */
  readonly arm?: Arm
  /** Every kind of row that is due. */
  readonly due: readonly Kind[]
  /** Every kind of row that is not, each a look-alike of one that is. */
  readonly spared: readonly Kind[]
  /** Rows that its window may come upon before those that are due, and that it does nothing about. */
  readonly ahead?: readonly Kind[]
  /** Whether each row that it changes leaves one event and one attempt. */
  readonly leavesTrace: boolean
}

/** A law is a test with a database of its own. */
export function law(name: string, check: (database: TestDatabase) => Promise<void>): void {
  it(name, async () => {
    const database = await openDatabase()
    await check(database).finally(() => database.close())
  })
}

export function armOf({ sweep, arm = sweep.arms[0] }: Subject): Arm {
  if (arm === undefined) throw new Error(`${sweep.purpose} takes nothing`)
  return arm
}

/** Settings with which a batch takes ten rows. */
export const tens = ({ sweep }: Subject): { settings: Partial<Settings> } => ({
  settings: { [sweep.batchSize]: 10 },
})

/** Rows of one kind, into the subject's table. */
export async function insertKind(
  database: TestDatabase,
  subject: Subject,
  kind: Kind,
  rows: number,
): Promise<void> {
  const { table } = armOf(subject)
  if (typeof kind === 'function') await kind(database, rows)
  else if (table === 'jobs') await insertJobs(database, kind, rows)
  else await insertRows(database, table, kind, rows)
}

/** Inserts due rows, of every kind in turn. */
export async function insertDue(database: TestDatabase, subject: Subject, rows: number): Promise<void> {
  const { due } = subject
  for (const [place, kind] of due.entries()) {
    const share = Math.floor(rows / due.length) + (place < rows % due.length ? 1 : 0)
    if (share > 0) await insertKind(database, subject, kind, share)
  }
}

/** The subject's rows, and the jobs, for comparing byte for byte. */
export async function snapshot(database: TestDatabase, subject: Subject): Promise<string[]> {
  const tables = new Set([armOf(subject).table, 'jobs'])
  const snapshots = await Promise.all([...tables].map(table => snapshotOf(database, table)))
  return snapshots.flat()
}

/** Takes all of the subject's rows away, and what is known of changes. */
export async function clear(database: TestDatabase, { sweep }: Subject): Promise<void> {
  const tables = new Set(['jobs', 'job_events', ...sweep.arms.map(({ table }) => table)])
  await database.rows(`truncate ${[...tables].map(table => `taskq.${table}`).join(', ')} cascade`)
}

/** Locks the first rows of the window's order in a transaction that stays open; answers with what ends it. */
export async function lockFirst(
  database: TestDatabase,
  subject: Subject,
  rows: number,
): Promise<() => Promise<unknown>> {
  const { table, index } = armOf(subject)
  const order = (await keyOf(database, table, index)).join(', ')
  const holder = await database.client()
  await holder.query('begin')
  await holder.query(`select from taskq.${table} order by ${order} limit ${rows} for update`)
  return () => holder.query('commit')
}

/** Runs a function until it does not say that there is more: once, or as its rule would minute by minute. */
export async function sweepAll(
  database: TestDatabase,
  { sweep }: Subject,
  options: SweepOptions = {},
): Promise<{ rows: number; last: RunResult }> {
  for (let rows = 0; ; ) {
    const last = await sweepOnce(database, sweep, options)
    rows += last.rows
    if (last.outcome !== 'bounded') return { rows, last }
  }
}
