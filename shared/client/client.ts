import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Settings } from '../core/read-settings.ts'
import type { Connections } from './connections.ts'
import type { Actor } from './define-actor.ts'
import type { EnqueueManyOptions, EnqueueOptions } from './enqueue-options.ts'
import { checkJobId, type Job } from './get-job.ts'
import type { Enqueued } from './insert-jobs.ts'
import { OpenCalls } from './open-calls.ts'
import { type PreparedJobs, prepareJob, prepareJobs } from './prepare-jobs.ts'
import type { Retried } from './retry-job.ts'
import { readJob, retryInOwn, storeInOwn, storeInTransaction } from './store-jobs.ts'

/** What an application enqueues with. */
export interface TaskQClient {
  /**
   * Stores one job, in one round trip. It is refused, and nothing stored, by an error whose `code` says why:
   * `PAYLOAD_INVALID`, `PAYLOAD_TOO_LARGE`, `TEXT_INVALID`, `OPTION_INVALID` (each with `field`),
   * `IDEMPOTENCY_CONFLICT`, `ACTOR_UNKNOWN` (a bare name that was never defined), `LOCK_TIMEOUT` (an open
   * transaction holds the same key; inside yours the server has then aborted it).
   * A bare name's payload is not validated here; its worker does.
   *
   * @example
   * const { id } = await taskq.enqueue(sendReceipt, { orderId }, { delay: '5m' })
   */
  enqueue<Payload extends StandardSchemaV1>(
    actor: Actor<Payload>,
    payload: StandardSchemaV1.InferInput<Payload>,
    options?: EnqueueOptions,
  ): Promise<Enqueued>
  enqueue(actor: string, payload: unknown, options?: EnqueueOptions): Promise<Enqueued>

  /**
   * Stores many jobs of one actor, and answers in the order given. All are stored or none: many are sent in
   * chunks, in one transaction of ours or behind a savepoint of yours. Jobs of one call run in their order
   * where nothing else decides.
   *
   * @example
   * await taskq.enqueueMany(sendReceipt, orders, { tx, idempotencyKey: order => order.orderId })
   */
  enqueueMany<Payload extends StandardSchemaV1>(
    actor: Actor<Payload>,
    payloads: readonly StandardSchemaV1.InferInput<Payload>[],
    options?: EnqueueManyOptions<StandardSchemaV1.InferInput<Payload>>,
  ): Promise<Enqueued[]>
  enqueueMany(actor: string, payloads: readonly unknown[], options?: EnqueueManyOptions): Promise<Enqueued[]>

  /** One job as it stands, or undefined where there is none (any more). */
  getJob(id: string): Promise<Job | undefined>

  /**
   * Redrives one job that failed, crashed or was cancelled: it is pending again and due now, with its full
   * budget and no error, result, progress or cancel. A deadline for its start that has passed is gone. Its
   * attempts, its events and since when it waits for a first claim stay. The retry commits by itself, in no
   * transaction of yours. It is refused, and nothing written, by an error with `field` and a `code`:
   * `JOB_NOT_ENDED`, `JOB_SUCCEEDED`, `JOB_ARCHIVED` (a `JobArchivedError`), `JOB_UNKNOWN`, `OPTION_INVALID`
   * (no UUID); or `LOCK_TIMEOUT`, where an open transaction holds the job or its schedule.
   *
   * @example
   * const { from } = await taskq.retry(id) // 'failed'
   */
  retry(id: string): Promise<Retried>

  /** Closes the connections, after what is under way. A process that has not called it does not end. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** What the client needs of the world: connections, and ids that sort by time. */
export interface ClientPorts {
  readonly connections: Connections
  readonly newJobId: () => string
}

/**
 * The client over ports. Applications call `createClient`, which brings settings, driver and connections.
 *
 * @example
 * const taskq = clientOn({ connections, newJobId: jobIds(Date.now) }, settings)
 */
export function clientOn(ports: ClientPorts, settings: Settings): TaskQClient {
  const store = { connections: ports.connections, settings }
  const storeAll = ({ tx, chunks }: PreparedJobs) =>
    tx === undefined ? storeInOwn(store, chunks) : storeInTransaction(settings, tx, chunks)
  const enqueue = async (actor: Actor | string, payload: unknown, options: EnqueueOptions = {}) => {
    const [enqueued] = await storeAll(await prepareJob(actor, payload, options, ports.newJobId, settings))
    return enqueued
  }
  const enqueueMany = async (
    actor: Actor | string,
    payloads: readonly unknown[],
    options: EnqueueManyOptions<never> = {},
  ) => storeAll(await prepareJobs(actor, payloads, options, ports.newJobId, settings))
  const getJob = async (id: string) => {
    checkJobId(id)
    return readJob(store, id)
  }
  const retry = async (id: string) => {
    checkJobId(id)
    return retryInOwn(store, id)
  }
  const calls = new OpenCalls('the client')
  const close = async () => {
    await calls.end()
    await ports.connections.close()
  }
  const client = {
    enqueue: calls.counted(enqueue),
    enqueueMany: calls.counted(enqueueMany),
    getJob: calls.counted(getJob),
    retry: calls.counted(retry),
    close,
    [Symbol.asyncDispose]: close,
  }
  return Object.freeze(client) as unknown as TaskQClient
}
