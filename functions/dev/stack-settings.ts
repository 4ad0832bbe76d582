import { type Environment, variableName } from '../../shared/core/read-settings.ts'
import { settingsTable } from '../../shared/core/settings.ts'

/** What a local stack decides itself: it has its own database, and is its own installation. */
const owned: readonly string[] = [
  'databaseUrl',
  'databaseDirectUrl',
  'databaseSecretArn',
  'schemaName',
  'environment',
  'installationId',
  'deploymentId',
  'queues',
]

/** The settings of the surrounding shell that a stack can be given, by their names as its properties. */
export function stackSettings(environment: Environment): Record<string, string> {
  const given = Object.keys(settingsTable)
    .filter(key => !owned.includes(key))
    .map(key => [key, environment[variableName(key as keyof typeof settingsTable)]] as const)
  return Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== undefined))
}
