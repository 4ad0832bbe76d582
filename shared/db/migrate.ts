import { isTaskQError, TaskQError } from '../core/errors.ts'
import { codeOf } from '../sql/failures.ts'
import type { ScriptConnection } from './driver-connection.ts'
import { type Installation, refuseOther, settle } from './installation.ts'
import { buildMigration } from './migration-build.ts'
import { migrationFailure } from './migration-failure.ts'
import { type MigrationFile, migrationFiles } from './migration-files.ts'
import { locked } from './migration-lock.ts'
import { appliedMigrations, bootstrap, isMissing, record } from './migration-record.ts'
import type { RolesReport } from './roles.ts'
import { runStatements } from './run-statements.ts'

export interface MigrateOptions {
  readonly installation: Installation
  readonly files?: readonly MigrationFile[]
  /** How long to wait for another migration, in milliseconds, before its holder is named; a minute. */
  readonly lockWaitMs?: number
  /** Opens one more direct connection; needed as soon as a file runs outside a transaction. */
  readonly openSecond?: () => Promise<ScriptConnection>
  /** Is told of each file that is missing, before it is applied. */
  readonly onFile?: (file: string) => void
}

export interface MigrateReport {
  readonly schema: string
  readonly version: number
  readonly applied: readonly string[]
  readonly roles: RolesReport
}

export interface PrebuildReport {
  readonly schema: string
  readonly applied: readonly string[]
  /** What only a deployment can build, because it needs what the deployment's other files make. */
  readonly left: readonly { readonly file: string; readonly reason: string }[]
}

const lockWaitMsDefault = 60_000

/**
 * Brings the schema to the newest version, one file after the other, and settles the installation's row.
 *
 *     for each file:  begin → try the migration lock, polling → is it still missing? → file → commit
 *
 * A file is one transaction, or runs beside one (migration-build.ts). Safe to run twice, at once or again; a
 * schema that is newer than the files is left as it is.
 */
export async function migrate(connection: ScriptConnection, options: MigrateOptions): Promise<MigrateReport> {
  const { files = migrationFiles(), lockWaitMs = lockWaitMsDefault, installation } = options
  const applied: string[] = []
  await told(undefined, () => refuseOther(connection, installation))
  for (const file of files) if (await apply(connection, file, options)) applied.push(file.file)
  const version = files.at(-1)?.version ?? 0
  const settled = () => locked(connection, lockWaitMs, () => settle(connection, installation, version))
  const roles = await told(undefined, settled)
  return { schema: connection.schema, version, applied, roles }
}

/** Undefined table, schema, function, column, object: what a later deployment makes. */
const notThereYet = ['42P01', '3F000', '42883', '42703', '42704']

/**
 * Runs the missing files outside a transaction before a deployment, which then finds them done: a long build
 * need not fit into its time. What needs something that is not there yet is left to the deployment.
 */
export async function prebuild(
  connection: ScriptConnection,
  options: MigrateOptions,
): Promise<PrebuildReport> {
  const { files = migrationFiles(), installation } = options
  const applied: string[] = []
  await told(undefined, () => refuseOther(connection, installation))
  const left: { file: string; reason: string }[] = []
  for (const file of files.filter(each => !each.isTransactional)) {
    try {
      if (await apply(connection, file, options)) applied.push(file.file)
    } catch (error) {
      const { cause } = error as Error
      if (!notThereYet.includes(codeOf(cause) ?? '')) throw error
      left.push({ file: file.file, reason: (cause as Error).message })
    }
  }
  return { schema: connection.schema, applied, left }
}

/** Every file with the instant at which it was applied, or null. */
export async function migrationStatus(connection: ScriptConnection, files = migrationFiles()) {
  const applied = await appliedMigrations(connection)
  return files.map(({ version, name }) => ({
    version,
    name,
    appliedAt: applied.get(version)?.applied_at ?? null,
  }))
}

/** Applies a file where it is missing; whether it was. */
function apply(connection: ScriptConnection, file: MigrationFile, options: MigrateOptions): Promise<boolean> {
  const { lockWaitMs = lockWaitMsDefault } = options
  const step = async () => {
    const applied = await appliedMigrations(connection)
    if (!isMissing(file, applied)) return false
    options.onFile?.(file.file)
    if (!file.isTransactional) await applyOutside(connection, file, options)
    else {
      if (applied.size === 0) await bootstrap(connection)
      await runStatements(connection, file)
    }
    await record(connection, file)
    return true
  }
  return told(file, () => locked(connection, lockWaitMs, step))
}

async function applyOutside(
  connection: ScriptConnection,
  file: MigrationFile,
  { openSecond, lockWaitMs = lockWaitMsDefault }: MigrateOptions,
): Promise<void> {
  if (openSecond === undefined) {
    const reason = 'runs outside a transaction, for which migrate needs the option openSecond'
    throw new TaskQError('MIGRATION_FAILED', `${file.file} ${reason}`, { field: 'openSecond' })
  }
  const builder = await openSecond()
  try {
    await buildMigration(connection, builder, file, lockWaitMs)
  } finally {
    await builder.close()
  }
}

/** Tells a failure with its file, the state that it left and the next step. */
async function told<T>(file: MigrationFile | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isTaskQError(error) ? error : migrationFailure(file, error)
  }
}
