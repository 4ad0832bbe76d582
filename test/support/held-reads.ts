import { expect } from 'vitest'
import type { Settings } from '../../shared/core/read-settings.ts'
import type { TestDatabase } from './database.ts'

/** A place at which a test holds a function: behind its snapshot, and before its first lock of a row. */
export interface HeldReads {
  /** Lets the function wait there for long enough. */
  readonly settings: Partial<Settings>
  /** Returns once somebody waits there. */
  reached(): Promise<void>
  release(): Promise<void>
}

const gate = 4711

/**
 * Holds whoever reads a row of a table in the functions' own role, by a policy on its rows that waits for a
 * lock. What other sessions commit meanwhile, the waiting statement's snapshot does not have, while the lock
 * that it takes on a row afterwards is one of the newest version: the gap that a race needs, made as wide as
 * a test wants it.
 */
export async function holdReads(database: TestDatabase, table: string): Promise<HeldReads> {
  await database.rows(`create function pass_gate() returns boolean language plpgsql security definer
    as $$ begin perform pg_advisory_xact_lock_shared(${gate}); return true; end $$`)
  await database.rows(`alter table taskq.${table} enable row level security`)
  await database.rows(`create policy gate on taskq.${table} using (pass_gate())`)
  const holder = await database.client()
  await holder.query('begin')
  await holder.query(`select pg_advisory_xact_lock(${gate})`)
  const waiting = () =>
    database.rows(`select from pg_locks where locktype = 'advisory' and not granted and objid = ${gate}
      and database = (select oid from pg_database where datname = current_database())`)
  return {
    settings: {
      batchLockTimeoutMs: 5000,
      eventWriterStatementTimeoutMs: 10_000,
      retentionStatementTimeoutMs: 10_000,
    },
    reached: async () => {
      await expect.poll(async () => (await waiting()).length, { timeout: 5000 }).toBe(1)
    },
    release: async () => void (await holder.query('commit')),
  }
}
