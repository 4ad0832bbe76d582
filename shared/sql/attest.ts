import { WrongTargetError } from '../core/errors.ts'
import type { Settings } from '../core/read-settings.ts'
import type { Runner } from './connection.ts'
import { arg, schema, sql, statement } from './statement.ts'
import { bool, text, uuid } from './types.ts'

const id = arg('installationId', uuid.orNull)
const environment = arg('environment', text.orNull)

/**
 * The installation's one row, where it is the pinned one: a restored or cloned database, or a wrong address,
 * has another row or none. An absent pin is not compared. A statement that joins it writes nothing elsewhere;
 * batches attest in the text that opens them.
 */
export const pinnedInstallation = sql`${schema}.installation
  where (${id} is null or installation_id = ${id})
    and (${environment} is null or environment = ${environment})`

/** Asks whether this is the pinned installation. */
export const attest = statement(
  'attest',
  { attested: bool },
  sql`select exists (select from ${pinnedInstallation}) as attested`,
)

/** The pins as arguments of a statement that attests. */
export function pinArgs({ installationId, environment }: Settings) {
  return { installationId: installationId ?? null, environment: environment ?? null }
}

/** Attests a connection just opened. At the wrong target it is closed, and a WrongTargetError thrown. */
export async function attested<C extends Runner & { readonly schema: string; close(): Promise<void> }>(
  connection: C,
  settings: Settings,
): Promise<C> {
  const pins = pinArgs(settings)
  if (pins.installationId === null && pins.environment === null) return connection
  try {
    const [row] = await connection.run(attest, pins)
    if (row?.attested === true) return connection
    throw new WrongTargetError(connection.schema)
  } catch (error) {
    await connection.close()
    throw error
  }
}
