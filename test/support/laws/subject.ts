import { it } from 'vitest'
import type { Sweep } from '../../../shared/sweeper/define.ts'
import { openDatabase, type TestDatabase } from '../database.ts'
import { insertJobs, type JobColumns } from '../jobs.ts'

/** What a scheduled function is held to the laws with: rows that it must take, and their look-alikes. */
export interface Subject {
  readonly sweep: Sweep
  /** Every kind of row that is due. */
  readonly due: readonly JobColumns[]
  /** Every kind of row that is not, each a look-alike of one that is. */
  readonly spared: readonly JobColumns[]
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

/** Inserts due rows, of every kind in turn; answers with their ids. */
export async function insertDue(database: TestDatabase, { due }: Subject, rows: number): Promise<string[]> {
  const ids: string[] = []
  for (const [place, columns] of due.entries()) {
    const share = Math.floor(rows / due.length) + (place < rows % due.length ? 1 : 0)
    ids.push(...(await insertJobs(database, columns, share)))
  }
  return ids
}
