import { setTimeout as wait } from 'node:timers/promises'
import type { Settings } from '../../shared/core/read-settings.ts'
import type { ScriptConnection } from '../../shared/db/driver-connection.ts'
import { openConnection } from '../runtime/connection.ts'

/** Above every timeout that the server enforces: past it, nobody answers any more. */
const patienceMs = 60_000

/** Opens one connection of a command; what cannot be had is `DATABASE_UNREACHABLE`. */
export function openDatabase(
  settings: Settings,
  options: { isDirect?: boolean; queryTimeoutMs?: number } = {},
): Promise<ScriptConnection> {
  const { isDirect = false, queryTimeoutMs = patienceMs } = options
  return openConnection({
    settings,
    applicationName: 'taskq-cli',
    isDirect,
    queryTimeoutMs,
    sleep: ms => wait(ms),
    random: Math.random,
  })
}

/** Opens a connection for one piece of work and closes it, however that ends. */
export async function withDatabase<T>(
  settings: Settings,
  options: { isDirect?: boolean; queryTimeoutMs?: number },
  work: (connection: ScriptConnection) => Promise<T>,
): Promise<T> {
  const connection = await openDatabase(settings, options)
  try {
    return await work(connection)
  } finally {
    await connection.close()
  }
}
