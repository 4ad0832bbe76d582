import { TaskQError } from '../core/errors.ts'
import { quoteIdentifier, quoteLiteral } from '../sql/statement.ts'
import type { ScriptConnection } from './driver-connection.ts'
import type { MigrationFile } from './migration-files.ts'

export interface AppliedMigration {
  readonly version: number
  readonly checksum: string
  readonly applied_at: Date
}

/** What `schema_migrations` says, by version; nothing where there is no such table yet. */
export async function appliedMigrations(
  connection: ScriptConnection,
): Promise<Map<number, AppliedMigration>> {
  const table = `${quoteIdentifier(connection.schema)}.schema_migrations`
  const [found] = await connection.script(`select to_regclass(${quoteLiteral(table)}) is not null as found`)
  if (!(found as { found: boolean }).found) return new Map()
  const rows = await connection.script(`select version, checksum, applied_at from ${table} order by version`)
  return new Map((rows as AppliedMigration[]).map(row => [row.version, row]))
}

/** Whether a file is still to be applied. One that was changed since it was is refused. */
export function isMissing(file: MigrationFile, applied: ReadonlyMap<number, AppliedMigration>): boolean {
  const before = applied.get(file.version)
  if (before === undefined) return true
  if (before.checksum === file.checksum) return false
  const next = 'restore the released file; a change is a new file'
  throw new TaskQError('MIGRATION_FAILED', `${file.file} was changed after it was applied: ${next}`)
}

/** Makes the schema and the table that records what is applied to it, for the first file. */
export async function bootstrap(connection: ScriptConnection): Promise<void> {
  const schema = quoteIdentifier(connection.schema)
  // "create schema if not exists" asks for a right on the database even where the schema exists.
  await connection.script(`do $$ begin
      if to_regnamespace(${quoteLiteral(schema)}) is null then create schema ${schema}; end if;
    end $$;
    comment on schema ${schema} is ${quoteLiteral(`TaskQ (${connection.schema})`)};
    create table if not exists ${schema}.schema_migrations (
      version int primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default clock_timestamp(),
      transactional boolean not null default true,
      duration_ms bigint
    )`)
}

/** Records a file as applied, in the transaction that holds the migration lock. */
export async function record(connection: ScriptConnection, file: MigrationFile): Promise<void> {
  const { version, name, checksum, isTransactional } = file
  await connection.script(`insert into ${quoteIdentifier(connection.schema)}.schema_migrations
      (version, name, checksum, transactional, duration_ms)
    values (${version}, ${quoteLiteral(name)}, ${quoteLiteral(checksum)}, ${isTransactional},
      extract(epoch from clock_timestamp() - now()) * 1000)`)
}
