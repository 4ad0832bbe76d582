import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Environment } from '../../shared/core/read-settings.ts'
import type { StackPlace } from './local-stack.ts'

/** Where the local stack is: no account and no secret of this name exists. */
export const localPlace: StackPlace = { region: 'us-east-1', account: '000000000000' }
const { region, account } = localPlace
export const localSecretArn = `arn:aws:secretsmanager:${region}:${account}:secret:taskq-local1`

/**
 * Builds the bundles and synthesizes the stack into a folder, as `cdk deploy` would, with properties of
 * its own. In a process of its own, because the CDK is large and this one lives on; apart from the terminal's
 * signals, so that what is under way ends by our order.
 */
export async function synthesizeHere(
  folder: string,
  given: { settings: Readonly<Record<string, string>>; schema?: string | undefined },
  environment: Environment,
  signal: AbortSignal,
): Promise<void> {
  const context = JSON.stringify({ databaseSecretArn: localSecretArn, ...given })
  const script = fileURLToPath(new URL('./synthesis-process.ts', import.meta.url))
  const child = spawn(process.execPath, [script, folder, context], {
    env: withoutOurs(environment),
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
    signal,
  })
  child.stderr.setEncoding('utf8')
  const said: string[] = []
  child.stderr.on('data', (chunk: string) => said.push(chunk))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`the stack was not synthesized:\n${said.join('').trim()}`)
}

/** Settings, credentials and CDK's own variables of the surrounding shell have no part in a local stack. */
export function withoutOurs(environment: Environment): Record<string, string> {
  const entries = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !/^(TASKQ|CDK|AWS)_/.test(entry[0]),
  )
  return Object.fromEntries(entries)
}
