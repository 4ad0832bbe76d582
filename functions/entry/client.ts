import { setTimeout as sleep } from 'node:timers/promises'
import { clientOn, type TaskQClient } from '../../shared/client/client.ts'
import { connectionSet, connectionsMax } from '../../shared/client/connections.ts'
import { jobIds } from '../../shared/client/job-id.ts'
import { InvalidInputError } from '../../shared/core/errors.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import { openConnection, openRequests } from '../runtime/connection.ts'
import { environmentSettings } from '../runtime/settings.ts'

export type { TaskQClient } from '../../shared/client/client.ts'
export {
  type Actor,
  type ActorOptions,
  defineActor,
  type RetryOptions,
} from '../../shared/client/define-actor.ts'
export type { EnqueueManyOptions, EnqueueOptions } from '../../shared/client/enqueue-options.ts'
export type { Job } from '../../shared/client/get-job.ts'
export {
  type Handler,
  type JobContext,
  NonRetryableError,
  type RunnableActor,
} from '../../shared/client/handler.ts'
export type { Enqueued } from '../../shared/client/insert-jobs.ts'
export type { Duration } from '../../shared/core/durations.ts'
export {
  type ErrorCode,
  errorCodes,
  IdempotencyConflictError,
  InvalidInputError,
  isTaskQError,
  TaskQError,
} from '../../shared/core/errors.ts'

/** Above every wait of the server's own: only a socket that died in silence takes so long. */
const queryTimeoutMs = 10_000

export interface ClientOptions {
  /** The environment's (`TASKQ_…`) where absent. */
  readonly settings?: Settings
  /** At most this many connections, 4 where absent; each is opened when it is first needed. */
  readonly connections?: number
}

/**
 * The client of an application. It connects when it first has something to send, keeps no timer, and
 * survives being frozen. `close()` lets the process end.
 *
 * @example
 * const taskq = await createClient()
 * await taskq.enqueue(sendReceipt, { orderId })
 */
export async function createClient(options: ClientOptions = {}): Promise<TaskQClient> {
  const connectionLimit = options.connections ?? connectionsMax
  if (!Number.isInteger(connectionLimit) || connectionLimit < 1) {
    throw new InvalidInputError('OPTION_INVALID', 'connections', 'is not a whole number of at least 1')
  }
  const settings = options.settings ?? environmentSettings()
  const wanted = {
    settings,
    applicationName: 'taskq-client',
    queryTimeoutMs,
    sleep: async (ms: number) => void (await sleep(ms)),
    random: Math.random,
  }
  const nowMs = () => Date.now()
  const ports = { connect: () => openConnection(wanted), requests: () => openRequests(wanted), nowMs }
  const connections = connectionSet(ports, connectionLimit)
  return clientOn({ connections, newJobId: jobIds(nowMs) }, settings)
}
