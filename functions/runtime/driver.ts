import type { Settings } from '../../shared/core/read-settings.ts'
import type { ConnectOptions, ScriptConnection } from '../../shared/db/driver-connection.ts'
import { connectPg } from '../../shared/db/pg.ts'

export type Driver = 'pg' | 'neon'

/** The driver for a URL: the setting's, or Neon's own for its hosts, which HTTPS reaches everywhere. */
export function driverOf({ databaseDriver }: Settings, url: string): Driver {
  if (databaseDriver !== 'auto') return databaseDriver
  return /\.neon\.tech$/.test(URL.parse(url)?.hostname ?? '') ? 'neon' : 'pg'
}

/** How a driver connects. Neon's is a chunk of its own: most databases never need it. */
export async function connectBy(
  driver: Driver,
): Promise<(options: ConnectOptions) => Promise<ScriptConnection>> {
  if (driver === 'pg') return connectPg
  const { connectNeon } = await import('../../shared/db/neon.ts')
  return connectNeon
}
