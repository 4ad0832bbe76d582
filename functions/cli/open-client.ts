import { clientOn, type TaskQClient } from '../../shared/client/client.ts'
import { connectionSet } from '../../shared/client/connections.ts'
import { jobIds } from '../../shared/client/job-id.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import { openDatabase } from './open-database.ts'

/** The client that applications use, over this command's settings and one connection. */
export function openClient(settings: Settings): TaskQClient {
  const nowMs = () => Date.now()
  const connections = connectionSet({ connect: () => openDatabase(settings), nowMs }, 1)
  return clientOn({ connections, newJobId: jobIds(nowMs) }, settings)
}
