import {
  type Environment,
  readSettings,
  type Settings,
  unknownVariables,
} from '../../shared/core/read-settings.ts'

let read: Settings | undefined

/**
 * The settings of this process, from its environment, read once. A wrong value is an error with code
 * `SETTING_INVALID` that names its variable, at every call: an invocation fails, not the load of the module,
 * so that the error reaches whoever invoked.
 */
export function environmentSettings(): Settings {
  read ??= readSettings(process.env)
  return read
}

/**
 * Names in the environment that begin as ours do and are no setting of this version. While a deployment
 * replaces functions one by one the versions differ, so they are worth a warning and no outage.
 */
export function unknownSettings(environment: Environment = process.env): string[] {
  return unknownVariables(environment).map(({ name, nearest }) => `${name} (nearest: ${nearest})`)
}

/** The server on which an application's tests are to make their queues; absent: one of their own. */
export function testDatabaseUrl(): string | undefined {
  return process.env['TASKQ_TEST_DATABASE_URL']
}
