import { TaskQError } from '../core/errors.ts'
import { quoteIdentifier, quoteLiteral } from '../sql/statement.ts'
import type { ScriptConnection } from './driver-connection.ts'
import { type RolesReport, settleRoles } from './roles.ts'

/** What a deployment says of itself; migrate stores it, and every batch is attested against it. */
export interface Installation {
  readonly installationId: string | undefined
  readonly environment: string | undefined
  readonly deploymentId: string | undefined
  /** Begins the names of the roles; the schema's name where absent. */
  readonly rolePrefix?: string | undefined
  /** Every scheduled function, which gets its row of state. */
  readonly purposes: readonly string[]
}

const literal = (value: string | undefined) => (value === undefined ? 'null' : quoteLiteral(value))

/** Refuses a database that belongs to another installation, before anything is written to it. */
export async function refuseOther(connection: ScriptConnection, installation: Installation): Promise<void> {
  const table = `${quoteIdentifier(connection.schema)}.installation`
  const [found] = await connection.script(`select to_regclass(${quoteLiteral(table)}) is not null as found`)
  if (!(found as { found: boolean }).found) return
  const [row] = await connection.script(`select installation_id::text, environment from ${table}`)
  if (row !== undefined) checkPins(row as StoredInstallation, installation)
}

/**
 * Writes the installation's row where there is none, and otherwise holds the deployment to it. A new
 * deployment id clears every latched breaker: whoever deploys has looked. The roles of a schema that is newer
 * than this version are left alone, as the schema is.
 */
export async function settle(
  connection: ScriptConnection,
  installation: Installation,
  version: number,
): Promise<RolesReport> {
  const schema = quoteIdentifier(connection.schema)
  const { installationId, environment, deploymentId, purposes } = installation
  await connection.script(`insert into ${schema}.installation (installation_id, environment)
    values (coalesce(${literal(installationId)}::uuid, gen_random_uuid()), ${literal(environment)})
    on conflict do nothing`)
  const [row] = (await connection.script(`select installation_id::text, environment, deployment_id,
      schema_version
    from ${schema}.installation`)) as StoredInstallation[]
  if (row === undefined) throw new TaskQError('INTERNAL', 'the installation has no row')
  checkPins(row, installation)
  if (deploymentId !== undefined && row.deployment_id !== deploymentId) {
    await connection.script(`update ${schema}.sweep_state
      set latched_at = null, consecutive_aborts = 0, first_abort_at = null where latched_at is not null`)
  }
  await connection.script(`update ${schema}.installation
    set environment = coalesce(environment, ${literal(environment)}),
        deployment_id = coalesce(${literal(deploymentId)}, deployment_id),
        schema_version = greatest(schema_version, ${version})`)
  if (purposes.length > 0) {
    const rows = purposes.map(purpose => `(${quoteLiteral(purpose)})`).join(', ')
    await connection.script(
      `insert into ${schema}.sweep_state (function) values ${rows} on conflict do nothing`,
    )
  }
  return row.schema_version > version ? 'left' : settleRoles(connection, installation.rolePrefix)
}

interface StoredInstallation {
  installation_id: string
  environment: string | null
  deployment_id: string | null
  schema_version: number
}

function checkPins(row: StoredInstallation, pins: Installation): void {
  if (pins.installationId !== undefined && pins.installationId !== row.installation_id) {
    throw new TaskQError(
      'WRONG_TARGET',
      `this database belongs to installation ${row.installation_id}, not ${pins.installationId}; ` +
        `to adopt it, set the prop installationId to "${row.installation_id}"`,
      { field: 'installationId' },
    )
  }
  // An installation that was made by hand says nothing of its environment: the first that does names it.
  if (pins.environment !== undefined && row.environment !== null && pins.environment !== row.environment) {
    throw new TaskQError(
      'WRONG_TARGET',
      `this database belongs to environment ${row.environment}, not ${pins.environment}`,
      { field: 'environment' },
    )
  }
}
