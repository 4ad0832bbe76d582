import { setTimeout as sleep } from 'node:timers/promises'
import { TaskQError } from '../core/errors.ts'
import { lockName } from '../core/names.ts'
import { classify } from '../sql/failures.ts'
import { quoteIdentifier, quoteLiteral } from '../sql/statement.ts'
import type { ScriptConnection } from './driver-connection.ts'
import { type Installation, settle } from './installation.ts'
import { type MigrationFile, migrationFiles } from './migration-files.ts'

export interface MigrateOptions {
  readonly installation: Installation
  /** How long to wait for another migration, in milliseconds, before its holder is named. */
  readonly lockWaitMs?: number
  readonly files?: MigrationFile[]
}

export interface MigrateReport {
  readonly schema: string
  readonly version: number
  readonly applied: readonly string[]
}

/** A busy table delays a migration, instead of the migration freezing the table. */
const tableLockTimeoutMs = 500
const tableLockTries = 60
const pollMs = 200

/**
 * Brings the schema to the newest version, one transaction a file, and settles the installation's row.
 *
 *     for each file:  begin → try the migration lock, polling → is it still missing? → file → commit
 *
 * The lock is tried, never waited for: a waiting peer would block a concurrent index build for ever.
 * Safe to run twice, at once or again; a schema that is newer than the files is left as it is.
 */
export async function migrate(connection: ScriptConnection, options: MigrateOptions): Promise<MigrateReport> {
  const files = options.files ?? migrationFiles()
  const lockWaitMs = options.lockWaitMs ?? 60_000
  const applied: string[] = []
  for (const file of files) {
    const wasMissing = await locked(
      connection,
      lockWaitMs,
      () => applyIfMissing(connection, file),
      fileLabel(file),
    )
    if (wasMissing) applied.push(fileLabel(file))
  }
  const version = files.at(-1)?.version ?? 0
  await locked(
    connection,
    lockWaitMs,
    () => settle(connection, options.installation, version),
    'installation',
  )
  return { schema: connection.schema, version, applied }
}

/** Every file with the instant at which it was applied, or null. */
export async function migrationStatus(connection: ScriptConnection, files = migrationFiles()) {
  const known = await appliedVersions(connection)
  return files.map(file => ({
    version: file.version,
    name: file.name,
    appliedAt: known.get(file.version)?.applied_at ?? null,
  }))
}

function fileLabel(file: MigrationFile): string {
  return `${String(file.version).padStart(4, '0')}_${file.name}.sql`
}

async function applyIfMissing(connection: ScriptConnection, file: MigrationFile): Promise<boolean> {
  const schema = quoteIdentifier(connection.schema)
  const known = await appliedVersions(connection)
  const before = known.get(file.version)
  if (before !== undefined) {
    if (before.checksum === file.checksum) return false
    const next = 'restore the released file; a change is a new file'
    throw new TaskQError('MIGRATION_FAILED', `${fileLabel(file)} was changed after it was applied: ${next}`)
  }
  if (known.size === 0) await connection.script(bootstrapText(schema, connection.schema))
  await connection.script(file.sql.replaceAll('{schema}', schema))
  await connection.script(`insert into ${schema}.schema_migrations (version, name, checksum, duration_ms)
    values (${file.version}, ${quoteLiteral(file.name)}, ${quoteLiteral(file.checksum)},
      extract(epoch from clock_timestamp() - now()) * 1000)`)
  return true
}

function bootstrapText(schema: string, name: string): string {
  // "create schema if not exists" asks for a right on the database even where the schema exists.
  return `do $$ begin
      if to_regnamespace(${quoteLiteral(schema)}) is null then create schema ${schema}; end if;
    end $$;
    comment on schema ${schema} is ${quoteLiteral(`TaskQ (${name})`)};
    create table if not exists ${schema}.schema_migrations (
      version int primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default clock_timestamp(),
      transactional boolean not null default true,
      duration_ms bigint
    )`
}

async function appliedVersions(connection: ScriptConnection) {
  const table = `${quoteIdentifier(connection.schema)}.schema_migrations`
  const [found] = await connection.script(`select to_regclass(${quoteLiteral(table)}) is not null as found`)
  if (!(found as { found: boolean }).found) return new Map<number, { checksum: string; applied_at: Date }>()
  const rows = await connection.script(`select version, checksum, applied_at from ${table} order by version`)
  return new Map(
    (rows as { version: number; checksum: string; applied_at: Date }[]).map(row => [row.version, row]),
  )
}

/** Runs one step in a transaction that holds the migration lock, again where a table was busy. */
async function locked<T>(
  connection: ScriptConnection,
  lockWaitMs: number,
  step: () => Promise<T>,
  label: string,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    await takeLock(connection, lockWaitMs)
    try {
      const result = await step()
      await connection.commit()
      return result
    } catch (error) {
      await connection.rollback()
      if (error instanceof TaskQError) throw error
      if (classify(error) !== 'transient' || tries === tableLockTries) throw failed(label, error)
      await sleep(pollMs + Math.random() * pollMs)
    }
  }
}

async function takeLock(connection: ScriptConnection, lockWaitMs: number): Promise<void> {
  const lock = quoteLiteral(lockName('migrate', connection.schema))
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const [row] = await connection.script(`begin isolation level read committed read write;
      select set_config('lock_timeout', '${tableLockTimeoutMs}ms', true),
        pg_try_advisory_xact_lock(hashtextextended(${lock}, 0)) as locked`)
    if ((row as { locked: boolean }).locked) return
    await connection.rollback()
    if (waitedMs >= lockWaitMs) throw await heldElsewhere(connection, lock)
    await sleep(pollMs)
  }
}

async function heldElsewhere(connection: ScriptConnection, lock: string): Promise<TaskQError> {
  const [holder] = (await connection.script(`
    select a.pid, a.application_name, a.client_addr::text, a.xact_start::text
    from pg_locks l join pg_stat_activity a using (pid)
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(${lock}, 0)
    limit 1`)) as { pid: number; application_name: string; client_addr: string | null; xact_start: string }[]
  const who = holder
    ? `backend ${holder.pid} (${holder.application_name || 'unnamed'}, ${holder.client_addr ?? 'local'}, ` +
      `since ${holder.xact_start})`
    : 'a backend that has just gone'
  return new TaskQError(
    'MIGRATION_LOCKED',
    `another migration holds its lock: ${who}; wait for it, or end it`,
  )
}

function failed(label: string, error: unknown): TaskQError {
  const message = error instanceof Error ? error.message : String(error)
  const state = 'its transaction was rolled back and the schema is as it was'
  return new TaskQError(
    'MIGRATION_FAILED',
    `${label}: ${message}; ${state}: mend the cause and migrate again`,
    {
      cause: error,
    },
  )
}
