import { clientOn, type TaskQClient as EnqueueingClient } from '../../shared/client/client.ts'
import type { Connections } from '../../shared/client/connections.ts'
import { jobIds } from '../../shared/client/job-id.ts'
import { OpenCalls } from '../../shared/client/open-calls.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import { inScheduleTransaction } from '../../shared/schedules/verbs/schedule-transaction.ts'
import { type Schedules, schedulesOn } from '../../shared/schedules/verbs/schedules.ts'

/** What an application enqueues with, and makes schedules. */
export interface TaskQClient extends EnqueueingClient {
  readonly schedules: Schedules
}

/** What a client needs of the world. */
export interface ClientPorts {
  readonly connections: Connections
  readonly nowMs: () => number
  /** Who is said to have changed a schedule. */
  readonly principal: string
}

/** A client of both: jobs, and the schedules that make them. Its close waits for the calls of either. */
export function schedulingClient(
  { connections, nowMs, principal }: ClientPorts,
  settings: Settings,
): TaskQClient {
  const client = clientOn({ connections, newJobId: jobIds(nowMs) }, settings)
  const verbs = schedulesOn({
    transact: work =>
      connections.use(connection => inScheduleTransaction(connection, settings, 'client', work)),
    settings,
    principal,
    definitions: null,
  })
  const calls = new OpenCalls('the client')
  const counted = Object.entries(verbs).map(([name, verb]) => [name, calls.counted(verb)])
  const schedules: Schedules = Object.freeze(Object.fromEntries(counted))
  const close = async () => {
    await calls.end()
    await client.close()
  }
  return Object.freeze({ ...client, schedules, close, [Symbol.asyncDispose]: close })
}
