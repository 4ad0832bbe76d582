import type { ScriptConnection } from '../../shared/db/driver-connection.ts'
import { connectPg } from '../../shared/db/pg.ts'
import type { LocalDeployment } from './local-deployment.ts'

/** A connection of our own beside everything that works, to look with. */
export function observe(deployment: LocalDeployment, applicationName: string): Promise<ScriptConnection> {
  return connectPg({
    url: deployment.url,
    schema: deployment.environment['TASKQ_SCHEMA_NAME'] ?? 'taskq',
    applicationName,
    connectTimeoutMs: 10_000,
    queryTimeoutMs: 60_000,
  })
}

/** The settings of a whole environment. */
export function taskqOnly(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith('TASKQ_')))
}

/** Of a function's log, only what somebody should see: each run is told in a line of its own already. */
export function showTrouble(line: string, onLine: (text: string) => void): void {
  if (/"level":"(WARN|ERROR|CRITICAL)"/.test(line) || !line.startsWith('{')) onLine(line)
}
