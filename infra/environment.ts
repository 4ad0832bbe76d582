import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Token } from 'aws-cdk-lib'
import { InvalidInputError } from '../shared/core/errors.ts'
import {
  type Environment,
  readSettings,
  refuseUnknownVariables,
  type Settings,
  variableName,
} from '../shared/core/read-settings.ts'
import { bundledFunctions, bundlesFolder } from './bundle-folders.ts'
import type { DatabaseSecrets } from './database-secrets.ts'

/** Settings that the construct writes, each with what it takes it from. */
const owned = {
  databaseUrl: 'the property databaseSecret: an environment would show the password',
  databaseDirectUrl: 'the property databaseSecret, as the directUrl in its JSON',
  databaseSecretArn: 'the property databaseSecret',
  schemaName: 'the property schema',
  environment: 'the property environment',
  installationId: 'the property installationId',
  deploymentId: 'the construct itself, as the hash of bundles and settings',
  queues: 'attachWorker and addWorker, for each worker',
} as const

type Owned = keyof typeof owned

/**
 * Settings as a user of the construct writes them: by their names in camelCase, durations as text with their
 * unit. What is absent has its default.
 */
export type SettingsProps = {
  readonly [Key in Exclude<keyof Settings, Owned>]?: string | number | readonly string[]
}

/** What a construct says beside the settings; texts that only a deployment resolves are not checked. */
export type Pins = Partial<
  Pick<Settings, 'schemaName' | 'environment' | 'installationId' | 'databaseSecretArn'>
>

/**
 * Reads and checks settings as the functions will, so that what is wrong fails the synthesis. A wrong value,
 * or a name that is no setting, is an error with code `SETTING_INVALID` that names the variable.
 *
 * `settings` are all of them; `said` are those that stand in the environment: a default does not, because it
 * belongs to the version of the code that runs.
 */
export function checkSettings(given: SettingsProps, pins: Pins) {
  const [taken] = Object.keys(given).filter((key): key is Owned => key in owned)
  if (taken !== undefined) {
    throw new InvalidInputError('SETTING_INVALID', variableName(taken), `is set by ${owned[taken]}`)
  }
  const literals = Object.entries(pins).filter(([, value]) => !Token.isUnresolved(value))
  const texts = Object.entries({ ...given, ...Object.fromEntries(literals) })
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [variableName(key as keyof Settings), String(value)])
  const environment: Environment = Object.fromEntries(texts)
  refuseUnknownVariables(environment)
  const settings = readSettings(environment)
  const keys = Object.keys(given) as (keyof SettingsProps)[]
  const said: Partial<Settings> = { ...Object.fromEntries(keys.map(key => [key, settings[key]])), ...pins }
  return { settings, said }
}

/**
 * What tells one deployment from another: the bytes of all bundles, every literal setting, and which secrets
 * are read. The same are the same deployment. What only the deployment itself will know is left out.
 */
export function deploymentIdOf(said: Partial<Settings>, secrets: DatabaseSecrets): string {
  const hash = createHash('sha256')
  for (const name of bundledFunctions) {
    const folder = join(bundlesFolder, name)
    for (const file of readdirSync(folder).sort())
      hash.update(`${name}/${file}\n`).update(readFileSync(join(folder, file)))
  }
  const arns = Object.entries(secrets).map(([role, { secretArn }]) => [`secret ${role}`, secretArn] as const)
  const literals = [...Object.entries(said), ...arns].filter(([, value]) => !Token.isUnresolved(value))
  return hash.update(JSON.stringify(literals.sort())).digest('hex').slice(0, 16)
}
