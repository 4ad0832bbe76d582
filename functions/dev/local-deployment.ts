import { join } from 'node:path'
import { type Environment, variableName } from '../../shared/core/read-settings.ts'
import { LocalCloud, type OnInvoked } from './local-cloud.ts'
import type { OnLine } from './local-sandbox.ts'
import { readStack } from './local-stack.ts'
import { startPostgres } from './postgres-server.ts'
import type { ScratchFolder } from './scratch-folder.ts'
import { localPlace, localSecretArn, synthesizeHere, withoutOurs } from './synthesize-here.ts'

export interface DeploymentOptions {
  readonly scratch: ScratchFolder
  /** Settings of the stack, by their names in camelCase, as text. */
  readonly settings: Readonly<Record<string, string>>
  readonly schema?: string | undefined
  /** The surrounding process's environment, for children: without anything of ours. */
  readonly environment: Environment
  readonly onLine: OnLine
  readonly onInvoked?: OnInvoked
  /** Told when a part stands, and when it has ended. */
  readonly onPart: (text: string) => void
  /** Ends what is under way. */
  readonly signal: AbortSignal
}

/** A database, and the synthesized stack deployed to it. */
export interface LocalDeployment {
  readonly url: string
  readonly cloud: LocalCloud
  /** The whole environment of a client's or worker's process. */
  readonly environment: Record<string, string>
}

/**
 * Starts an embedded Postgres and, beside it, synthesizes the stack; then does what a deploy does: the
 * functions stand, and the stack's triggers have migrated. Everything that was started is handed to `ends`,
 * which ends it in the opposite order, wherever this fails.
 */
export async function deployHere(
  options: DeploymentOptions,
  ends: AsyncDisposableStack,
): Promise<LocalDeployment> {
  const { scratch, settings, schema, onPart, signal } = options
  const folder = join(scratch.path, 'cdk.out')
  const synthesis = synthesizeHere(folder, { settings, schema }, options.environment, signal)
  // It is awaited below; until then a failure must not count as unhandled.
  synthesis.catch(() => undefined)
  // No job outlives this run, so nothing needs to reach the disk.
  const postgres = await startPostgres({
    parent: scratch.path,
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  })
  ends.defer(async () => {
    await postgres.stop()
    onPart('stopped: the database')
  })
  onPart(`database: embedded Postgres on port ${postgres.port}`)
  // The synthesis writes below the folder that is deleted at the end, so it must have ended by then.
  ends.defer(() => synthesis.catch(() => undefined))
  await synthesis
  const stack = readStack(folder, localPlace)
  const secrets = { [localSecretArn]: JSON.stringify({ url: postgres.url, directUrl: postgres.url }) }
  const { onLine, onInvoked } = options
  const cloud = await LocalCloud.start({ stack, secrets, onLine, ...(onInvoked && { onInvoked }) })
  ends.defer(async () => {
    await cloud.stop()
    onPart('stopped: the functions')
  })
  signal.throwIfAborted()
  await cloud.deploy()
  onPart(`functions: ${cloud.purposes.join(', ')}, from their bundles`)
  return { url: postgres.url, cloud, environment: environmentOf(cloud, postgres.url, options.environment) }
}

/** What the stack gives to its functions, with the address itself in place of the secret that holds it. */
function environmentOf(cloud: LocalCloud, url: string, surrounding: Environment): Record<string, string> {
  const { environment } = cloud.functionOf('migrate')
  const settings = { ...environment }
  delete settings[variableName('databaseSecretArn')]
  return { ...withoutOurs(surrounding), ...settings, [variableName('databaseUrl')]: url }
}
