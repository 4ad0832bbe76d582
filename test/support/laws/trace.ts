import { expect } from 'vitest'
import type { TestDatabase } from '../database.ts'
import { keyOf } from '../rows.ts'
import { armOf, type Subject } from './subject.ts'

/**
 * Notes every change of the subject's rows in a table of the test's own, so that a row on which a function
 * acted twice shows, whatever it left behind.
 */
export async function watchRows(database: TestDatabase, subject: Subject): Promise<void> {
  const { table } = armOf(subject)
  const key = await keyOf(database, table)
  await database.rows(`create table changes (
    row_key text, from_state text, to_state text, tx xid8 default pg_current_xact_id())`)
  await onChange(
    database,
    subject,
    `insert into changes (row_key, from_state, to_state)
     select string_agg(to_jsonb(old) ->> name, '/'), to_jsonb(old) ->> 'status', to_jsonb(new) ->> 'status'
     from unnest('{${key.join(',')}}'::text[]) as name`,
  )
}

/** Lets some plpgsql run before each change of one of the subject's rows, under the owner's rights. */
export async function onChange(database: TestDatabase, subject: Subject, plpgsql: string): Promise<void> {
  const { table } = armOf(subject)
  const [{ name } = { name: '' }] = await database.rows<{ name: string }>(
    `select 'on_change_' || count(*) as name from pg_trigger where tgname like 'on_change_%'`,
  )
  await database.rows(`create function ${name}() returns trigger language plpgsql security definer
    as $$ begin ${plpgsql}; return coalesce(new, old); end $$`)
  await database.rows(`create trigger ${name} before update or delete on taskq.${table}
    for each row execute function ${name}()`)
}

export interface ChangeCounts {
  readonly changes: number
  readonly rows: number
  readonly transactions: number
  readonly largest: number
}

/** How many changes there were, of how many rows, in how many transactions, and in the largest of these. */
export async function countChanges(database: TestDatabase): Promise<ChangeCounts> {
  const [counts] = await database.rows<ChangeCounts & Record<string, number>>(`
    select count(*)::int as changes, count(distinct row_key)::int as rows,
      count(distinct tx)::int as transactions,
      coalesce((select max(n) from (select count(*)::int as n from changes group by tx) t), 0) as largest
    from changes`)
  return counts ?? { changes: 0, rows: 0, transactions: 0, largest: 0 }
}

/** Each row that changed left one event and one attempt, where it is to; no other row left any. */
export async function expectTraces(database: TestDatabase, { leavesTrace }: Subject): Promise<void> {
  const { rows } = await countChanges(database)
  const expected = leavesTrace ? rows : 0
  const [found] = await database.rows<{ events: number; attempts: number; alone: number }>(`
    select (select count(*)::int from taskq.job_events) as events,
      (select count(*)::int from taskq.job_attempts) as attempts,
      (select count(*)::int from taskq.job_events e where not exists (
        select from changes c where c.row_key = e.job_id::text
          and c.from_state = e.detail->>'from_state' and c.to_state = e.detail->>'to_state')) as alone`)
  expect(found).toEqual({ events: expected, attempts: expected, alone: 0 })
}
