import { InvalidInputError } from '../../../shared/core/errors.ts'
import type { ScriptConnection } from '../../../shared/db/driver-connection.ts'
import { type MigrateOptions, migrate, migrationStatus, prebuild } from '../../../shared/db/migrate.ts'
import { routines } from '../../../shared/sweeps/index.ts'
import type { Answer } from '../answer.ts'
import { openDatabase, withDatabase } from '../open-database.ts'
import type { Call, Verb } from '../verb.ts'

/** A build or a backfill may take as long as it takes; the server's own timeouts bound what must be short. */
const migrationPatienceMs = 86_400_000

export const migrateVerb: Verb = {
  name: 'migrate',
  summary: 'brings the schema to the newest version, past the pooler',
  words: [],
  flags: {
    status: { doc: 'only say what is applied and what is missing' },
    prebuild: {
      doc: 'before a deploy: run only the missing files that need no transaction, such as long builds',
    },
  },
  run: call => {
    if (call.has('status') && call.has('prebuild')) {
      throw new InvalidInputError('USAGE', '--prebuild', 'changes the schema, and --status only reads it')
    }
    return withDatabase(call.settings, direct, connection => {
      if (call.has('status')) return status(connection)
      return call.has('prebuild') ? prebuildNow(connection, call) : apply(connection, call)
    })
  },
}

const direct = { isDirect: true, queryTimeoutMs: migrationPatienceMs }

/** `{schema, version, applied: [file], roles}` */
async function apply(connection: ScriptConnection, call: Call): Promise<Answer> {
  const report = await migrate(connection, optionsOf(call))
  const done = report.applied.length === 0 ? 'nothing to do' : `applied ${report.applied.join(', ')}`
  const skipped = report.roles === 'skipped' ? '; no roles: this login may not create them' : ''
  return { json: report, text: `schema ${report.schema} is at version ${report.version}: ${done}${skipped}` }
}

/** `{schema, applied: [file], left: [{file, reason}]}` */
async function prebuildNow(connection: ScriptConnection, call: Call): Promise<Answer> {
  const report = await prebuild(connection, optionsOf(call))
  const done = report.applied.length === 0 ? 'nothing to build' : `built ${report.applied.join(', ')}`
  const left = report.left.map(({ file, reason }) => `  left to the deployment: ${file}, because ${reason}`)
  return { json: report, text: [`schema ${report.schema}: ${done}`, ...left] }
}

function optionsOf({ settings, output }: Call): MigrateOptions {
  const { installationId, environment, deploymentId, rolePrefix } = settings
  const purposes = routines.map(sweep => sweep.purpose)
  return {
    installation: { installationId, environment, deploymentId, rolePrefix, purposes },
    openSecond: () => openDatabase(settings, direct),
    onFile: file => output.live(`applying ${file}`),
  }
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
    text: [`schema ${schema}: ${pending} of ${migrations.length} migrations missing`, ...lines],
  }
}
