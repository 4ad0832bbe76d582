import { InvalidInputError, isTaskQError } from '../../shared/core/errors.ts'
import {
  type Environment,
  readSettings,
  refuseUnknownVariables,
  type Settings,
  variableName,
} from '../../shared/core/read-settings.ts'

/** The flags that say where; each stands above its variable. */
export const placeFlags = { 'database-url': 'databaseUrl', schema: 'schemaName' } as const

type PlaceFlag = keyof typeof placeFlags

/**
 * The environment of this process, with what the flags override. An address given as a flag is the whole
 * address: a secret or a direct URL in the environment would lead elsewhere.
 */
export function cliEnvironment(given: Readonly<Partial<Record<PlaceFlag, string | undefined>>>): Environment {
  const environment: Record<string, string | undefined> = { ...process.env }
  for (const [flag, key] of Object.entries(placeFlags)) {
    const value = given[flag as PlaceFlag]
    if (value !== undefined) environment[variableName(key)] = value
  }
  if (given['database-url'] !== undefined) {
    delete environment[variableName('databaseDirectUrl')]
    delete environment[variableName('databaseSecretArn')]
  }
  return environment
}

/** Reads the settings; a name that is no setting is an error here, and a refused flag is named as a flag. */
export function cliSettings(environment: Environment, given: Readonly<Record<string, unknown>>): Settings {
  refuseUnknownVariables(environment)
  try {
    return readSettings(environment)
  } catch (error) {
    throw asFlag(error, given)
  }
}

function asFlag(error: unknown, given: Readonly<Record<string, unknown>>): unknown {
  if (!isTaskQError(error)) return error
  const flag = Object.entries(placeFlags).find(
    ([name, key]) => given[name] !== undefined && variableName(key) === error.field,
  )?.[0]
  if (flag === undefined) return error
  const reason = error.message.slice(`${error.field}: `.length)
  return new InvalidInputError('SETTING_INVALID', `--${flag}`, reason, { cause: error })
}
