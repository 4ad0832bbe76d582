import { setTimeout as sleep } from 'node:timers/promises'
import { connectionSet, connectionsMax } from '../../shared/client/connections.ts'
import { InvalidInputError } from '../../shared/core/errors.ts'
import { checkName } from '../../shared/core/names.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import { openConnection, openRequests } from '../runtime/connection.ts'
import { schedulingClient, type TaskQClient } from '../runtime/scheduling-client.ts'
import { environmentSettings } from '../runtime/settings.ts'

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
export type { Retried } from '../../shared/client/retry-job.ts'
export type { Duration } from '../../shared/core/durations.ts'
export {
  type ErrorCode,
  errorCodes,
  IdempotencyConflictError,
  InvalidInputError,
  isTaskQError,
  JobArchivedError,
  TaskQError,
} from '../../shared/core/errors.ts'
export {
  defineSchedule,
  type Intent,
  type MissedRun,
  type Schedule,
  type ScheduleOptions,
} from '../../shared/schedules/define-schedule.ts'
export type { Occasion, PayloadFactory } from '../../shared/schedules/payload-factory.ts'
export type { ScheduleEdit } from '../../shared/schedules/verbs/edit.ts'
export type { ListedSchedule } from '../../shared/schedules/verbs/list.ts'
export type { Schedules } from '../../shared/schedules/verbs/schedules.ts'
export type { ScheduleChanged } from '../../shared/schedules/verbs/verb-ports.ts'
export type { TaskQClient } from '../runtime/scheduling-client.ts'

/** Above every wait of the server's own: only a socket that died in silence takes so long. */
const queryTimeoutMs = 10_000

export interface ClientOptions {
  /** The environment's (`TASKQ_…`) where absent. */
  readonly settings?: Settings
  /** At most this many connections, 4 where absent; each is opened when it is first needed. */
  readonly connections?: number
  /** Who is said to have changed a schedule; `application` where absent. */
  readonly principal?: string
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
  const { principal = 'application' } = options
  checkName('principal', principal)
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
  return schedulingClient({ connections, nowMs, principal }, settings)
}
