import type { TestDatabase } from './database.ts'

/** SQL for columns of new rows, by name; `n` counts the rows from 1. */
export type Columns = Readonly<Record<string, string>>

/** A way to make a number of like rows: columns of one table, or what makes rows of several. */
export type Kind = Columns | ((database: TestDatabase, rows: number) => Promise<unknown>)

/** Inserts a number of like rows into a table, by hand, as a user may. */
export async function insertRows(
  database: TestDatabase,
  table: string,
  columns: Columns,
  rows = 1,
): Promise<void> {
  await database.rows(
    `insert into taskq.${table} (${Object.keys(columns).join(', ')})
     select ${Object.values(columns).join(', ')} from generate_series(1, ${rows}) as n`,
  )
}

/** The rows of a table that hold to a condition, versions included, for comparing byte for byte. */
export async function snapshotOf(database: TestDatabase, table: string, where = 'true'): Promise<string[]> {
  const rows = await database.rows<{ row: string }>(
    `select t::text || '|' || xmin::text as row from taskq.${table} t where ${where} order by 1`,
  )
  return rows.map(({ row }) => row)
}

/** The columns of a table's primary key, or of an index where the table has one of that name, in order. */
export async function keyOf(database: TestDatabase, table: string, index = ''): Promise<string[]> {
  const [found] = await database.rows<{ columns: string[] }>(
    `select array_agg(a.attname::text order by k.place) as columns
     from pg_index i
     join pg_class c on c.oid = i.indexrelid
     cross join lateral unnest(i.indkey::int2[]) with ordinality as k (attnum, place)
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
     where i.indrelid = $1::regclass and (i.indisprimary or c.relname = $2)
     group by c.relname order by c.relname = $2 desc limit 1`,
    [`taskq.${table}`, index],
  )
  return found?.columns ?? []
}
