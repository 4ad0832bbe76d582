import { expect } from 'vitest'
import type { TestDatabase } from '../database.ts'
import type { Subject } from './subject.ts'

/**
 * Counts every change of a job's state in a table of the test's own, so that a row on which a function
 * acted twice shows, whatever it left behind.
 */
export async function watchMoves(database: TestDatabase): Promise<void> {
  await database.rows(`create table moves (
    job_id uuid, from_state text, to_state text, tx xid8 default pg_current_xact_id())`)
  await database.rows(`create function note_move() returns trigger language plpgsql
          security definer as $$ begin
    insert into moves (job_id, from_state, to_state) values (new.id, old.status, new.status);
    return new; end $$`)
  await database.rows(`create trigger note_move after update on taskq.jobs for each row
    when (old.status is distinct from new.status) execute function note_move()`)
}

export interface MoveCounts {
  readonly moves: number
  readonly jobs: number
  readonly transactions: number
  readonly largest: number
}

/** How many moves there were, of how many jobs, in how many transactions, and in the largest of these. */
export async function countMoves(database: TestDatabase): Promise<MoveCounts> {
  const [counts] = await database.rows<MoveCounts & Record<string, number>>(`
    select count(*)::int as moves, count(distinct job_id)::int as jobs,
      count(distinct tx)::int as transactions,
      coalesce((select max(rows) from (select count(*)::int as rows from moves group by tx) t), 0) as largest
    from moves`)
  return counts ?? { moves: 0, jobs: 0, transactions: 0, largest: 0 }
}

/** Each job that moved left one event and one attempt, with one stamp; no other job left any. */
export async function expectTraces(database: TestDatabase, subject: Subject): Promise<void> {
  const { jobs } = await countMoves(database)
  const expected = subject.leavesTrace ? jobs : 0
  const [found] = await database.rows<{ events: number; attempts: number; alone: number }>(`
    select (select count(*)::int from taskq.job_events) as events,
      (select count(*)::int from taskq.job_attempts) as attempts,
      (select count(*)::int from taskq.job_events e where not exists (
        select from moves m where m.job_id = e.job_id
          and m.from_state = e.detail->>'from_state' and m.to_state = e.detail->>'to_state')) as alone`)
  expect(found).toEqual({ events: expected, attempts: expected, alone: 0 })
}
