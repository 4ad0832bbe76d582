import type { ScriptConnection } from '../../../shared/db/driver-connection.ts'
import { migrate, migrationStatus } from '../../../shared/db/migrate.ts'
import { sweeps } from '../../../shared/sweeps/index.ts'
import type { Answer } from '../answer.ts'
import { withDatabase } from '../open-database.ts'
import type { Call, Verb } from '../verb.ts'

/** A build or a backfill may take as long as it takes; the server's own timeouts bound what must be short. */
const migrationPatienceMs = 3_600_000

export const migrateVerb: Verb = {
  name: 'migrate',
  summary: 'brings the schema to the newest version, past the pooler',
  words: [],
  flags: { status: { doc: 'only say what is applied and what is missing' } },
  run: call => {
    const options = { isDirect: true, queryTimeoutMs: migrationPatienceMs }
    return withDatabase(call.settings, options, connection =>
      call.has('status') ? status(connection) : apply(connection, call),
    )
  },
}

/** `{schema, version, applied: [file]}` */
async function apply(connection: ScriptConnection, { settings }: Call): Promise<Answer> {
  const { installationId, environment, deploymentId, rolePrefix } = settings
  const purposes = sweeps.map(sweep => sweep.purpose)
  const report = await migrate(connection, {
    installation: { installationId, environment, deploymentId, rolePrefix, purposes },
  })
  const done = report.applied.length === 0 ? 'nothing to do' : `applied ${report.applied.join(', ')}`
  return { json: report, text: `schema ${report.schema} is at version ${report.version}: ${done}` }
}

/** `{schema, pending, migrations: [{version, name, appliedAt}]}`; `appliedAt` is null where it is missing. */
async function status(connection: ScriptConnection): Promise<Answer> {
  const migrations = await migrationStatus(connection)
  const pending = migrations.filter(migration => migration.appliedAt === null).length
  const lines = migrations.map(
    ({ version, name, appliedAt }) =>
      `  ${String(version).padStart(4, '0')}_${name}  ${appliedAt?.toISOString() ?? 'missing'}`,
  )
  const { schema } = connection
  return {
    json: { schema, pending, migrations },
    text: [`schema ${schema}: ${pending} of ${migrations.length} migrations missing`, ...lines].join('\n'),
  }
}
