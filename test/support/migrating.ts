import { type MigrateOptions, migrate } from '../../shared/db/migrate.ts'
import { migrationFile, migrationFiles } from '../../shared/db/migration-files.ts'
import type { TestDatabase } from './database.ts'

/** A deployment that says nothing of itself. */
export const nobody = {
  installationId: undefined,
  environment: undefined,
  deploymentId: undefined,
  purposes: ['promotion'],
}

/** A file of a later release. */
export const laterFile = (version: number, name: string, sql: string) =>
  migrationFile(`${String(version).padStart(4, '0')}_${name}.sql`, sql)

/** A later file that builds an index of its own name outside a transaction, in its third line. */
export const indexFile = (version: number, name: string, on: string) =>
  laterFile(
    version,
    name,
    `-- taskq: non-transactional\n\ncreate index concurrently if not exists ${name} on {schema}.${on};\n`,
  )

export type LaterFile = ReturnType<typeof laterFile>

/** What migrate and prebuild are given to bring a database to later files. */
export function optionsFor(
  database: TestDatabase,
  files: readonly LaterFile[],
  changed: Partial<MigrateOptions> = {},
): MigrateOptions {
  return {
    installation: nobody,
    files: [...migrationFiles(), ...files],
    openSecond: () => database.connect({ applicationName: 'builder' }),
    ...changed,
  }
}

/** Brings a database to later files, on a connection of its own. */
export async function migrateTo(
  database: TestDatabase,
  files: readonly LaterFile[],
  changed: Partial<MigrateOptions> = {},
) {
  return migrate(
    await database.connect({ applicationName: 'migrator' }),
    optionsFor(database, files, changed),
  )
}
