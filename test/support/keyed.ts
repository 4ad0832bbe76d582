import type { TestDatabase } from './database.ts'
import { type Columns, insertRows } from './rows.ts'

/** Idle for a day longer than any default, the first of them longest. */
export const longAgo = `statement_timestamp() - interval '1 day' + n * interval '1 millisecond'`
/** And before all of those. */
export const before = `statement_timestamp() - interval '2 days' + n * interval '1 millisecond'`

/** Buckets of some slots each, all alike but for those that a condition on \`slot\` and \`n\` changes. */
export const slotBuckets =
  (slots: number, columns: Columns = {}) =>
  (database: TestDatabase, rows: number) => {
    const given = { keyed: 'true', last_used_at: longAgo, ...columns }
    const names = Object.keys(given).join(', ')
    return database.rows(
      `insert into taskq.reservation_slots (bucket, slot, ${names})
       select 'b' || fresh.name, slot, ${Object.values(given).join(', ')}
       from (select n, gen_random_uuid() as name from generate_series(1, ${rows}) as n) as fresh,
         generate_series(0, ${slots - 1}) as slot`,
    )
  }

/** A rate limit's bucket of its own key, with some state. */
export const limitBucket = (state: object | string, columns: Columns = {}): Columns => ({
  bucket: `'b' || gen_random_uuid()`,
  kind: `'any'`,
  keyed: 'true',
  last_used_at: longAgo,
  state: typeof state === 'string' ? state : `'${JSON.stringify(state)}'::jsonb`,
  ...columns,
})

/** Tokens as they stood when the bucket was used last. */
export const tokens = (left: number, capacity: number, perSecond: number) => ({
  tokens: left,
  capacity,
  refill_per_second: perSecond,
  at: 0,
})

/** Entries, one a bucket of its own, which is a window log of a minute. */
export const loggedEntry =
  (at: string, columns: Columns = {}) =>
  async (database: TestDatabase, rows: number) => {
    const ids = await database.rows<{ id: string }>(
      `select gen_random_uuid() as id from generate_series(1, ${rows})`,
    )
    const bucket = `('{${ids.map(({ id }) => id).join(',')}}'::text[])[n]`
    const log = limitBucket({ window_seconds: 60 }, { ...columns, bucket })
    await insertRows(database, 'rate_limit_buckets', log, rows)
    await insertRows(
      database,
      'rate_limit_window_entries',
      { bucket, at, request_id: 'gen_random_uuid()' },
      rows,
    )
  }
