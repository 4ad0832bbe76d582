import { storableError } from '../core/text.ts'
import type { Connection } from '../sql/connection.ts'
import { arg, schema, sql, statement } from '../sql/statement.ts'
import { int4, text } from '../sql/types.ts'
import { type BatchPlan, open } from './batch.ts'

/** More in one run, or in all of a function, are no bad rows but a fault of the whole. */
export const setAsideMax = { run: 20, function: 500 } as const

/**
 * Sets one row of a function aside: for five minutes, and each time that it fails again for twice as long as
 * before, a day at most. Answers no row where so many stand aside at this moment that no further one may.
 */
export const setRowAside = statement(
  'set-row-aside',
  { failures: int4 },
  sql`insert into ${schema}.sweep_quarantine as q (function, row_key, until, last_error)
  select mine.function, mine.row_key, clock_timestamp() + interval '5 minutes', ${arg('error', text)}
  from (select ${arg('purpose', text)} as function, ${arg('rowKey', text)} as row_key) as mine
  where (select count(*) from ${schema}.sweep_quarantine as other
      where other.function = mine.function and other.until > statement_timestamp()) < ${arg('max', int4)}
    or exists (select from ${schema}.sweep_quarantine as known
      where known.function = mine.function and known.row_key = mine.row_key)
  on conflict (function, row_key) do update set
    failures = q.failures + 1,
    until = clock_timestamp()
      + least(interval '5 minutes' * power(2, least(q.failures, 20)), interval '1 day'),
    last_error = excluded.last_error
  returning q.failures`,
)

/**
 * Sets a row aside in a batch of its own; answers whether the function's lock was free for it. Throws the
 * row's error where too many stand aside.
 */
export async function setAside(
  connection: Connection,
  plan: BatchPlan,
  { purpose, rowKey, error }: { readonly purpose: string; readonly rowKey: string; readonly error: unknown },
): Promise<boolean> {
  if (!(await open(connection, plan, true))) return false
  const told = { purpose, rowKey, error: storableError(error).message, max: setAsideMax.function }
  const [row] = await connection.run(setRowAside, told)
  await connection.commit()
  if (row === undefined) throw error
  return true
}
