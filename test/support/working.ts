import { afterEach } from 'vitest'
import * as z from 'zod'
import {
  createClient,
  defineActor,
  type RunnableActor,
  type TaskQClient,
} from '../../functions/entry/client.ts'
import {
  type RunningWorker,
  type RunWorkerOptions,
  runWorker,
  type WorkerVitals,
} from '../../functions/entry/worker.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import type { Connection } from '../../shared/sql/connection.ts'
import { type ClaimAnswer, type ClaimedJob, claim, readClaim } from '../../shared/worker/claim.ts'
import { type Settlement, settle, settleArgs } from '../../shared/worker/settle.ts'
import type { TestDatabase } from './database.ts'
import { insertJobs, type JobColumns, pendingJob } from './jobs.ts'
import { settingsWith } from './sweeping.ts'

/** An actor whose payload may be anything. */
export const anything = (name = 'test', queue = 'default') => defineActor({ name, queue, payload: z.any() })

const opened: { close(): Promise<unknown> }[] = []

/** Closes after each test what it opened with the functions below. */
export function closesWorkers(): void {
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close()
  })
}

/** A client of a test's database. */
export async function clientOn(
  database: TestDatabase,
  changed: Partial<Settings> = {},
): Promise<TaskQClient> {
  const client = await createClient({ settings: settingsWith({ ...database.settings, ...changed }) })
  opened.push(client)
  return client
}

/** A long-lived worker that looks for work often. */
export async function workerOn(
  database: TestDatabase,
  actors: readonly RunnableActor[],
  options: Omit<RunWorkerOptions, 'actors' | 'settings'> & { settings?: Partial<Settings> } = {},
): Promise<RunningWorker> {
  const settings = settingsWith({
    ...database.settings,
    pollInterval: 50,
    softStopTimeout: 500,
    ...options.settings,
  })
  // Trouble that a test makes on purpose is not worth a line.
  const worker = await runWorker({ report: () => undefined, ...options, actors, settings })
  opened.push({ close: () => worker.stop() })
  return worker
}

/** How a worker itself is, of what its health says. */
export async function vitalsOf(worker: RunningWorker | undefined): Promise<WorkerVitals | undefined> {
  return (await worker?.health())?.worker
}

export const worker1 = { workerId: '00000000-0000-4000-8000-000000000001', name: 'one' }
export const worker2 = { workerId: '00000000-0000-4000-8000-000000000002', name: 'two' }

export interface ClaimOptions {
  readonly queues?: string[]
  readonly actors?: string[]
  readonly batch?: number
  readonly rotation?: number
  readonly workerId?: string
  readonly leaseMs?: number
}

/** One claim, as a worker makes it. */
export async function claimOn(connection: Connection, options: ClaimOptions = {}): Promise<ClaimAnswer> {
  const args = {
    queues: ['default'],
    actors: ['test'],
    batch: 10,
    rotation: 0,
    workerId: worker1.workerId,
    leaseMs: 60_000,
    ...options,
  }
  return readClaim(await connection.run(claim, args))
}

/** Inserts and claims jobs that look like this; `meanwhile` is done to them while they run. */
export async function claimJobs(
  database: TestDatabase,
  connection: Connection,
  columns: JobColumns = {},
  rows = 1,
  meanwhile?: string,
): Promise<ClaimedJob[]> {
  await insertJobs(database, { ...pendingJob(), ...columns }, rows)
  const { jobs } = await claimOn(connection, { batch: rows })
  if (meanwhile !== undefined) await database.rows(`update taskq.jobs set ${meanwhile}`)
  return [...jobs]
}

/** A settlement of a claimed job, complete unless said otherwise. */
export function ending(
  job: { id: string; attempt: number; epoch: number },
  changed: Partial<Settlement> = {},
): Settlement {
  const { id, attempt, epoch } = job
  return { id, attempt, epoch, verb: 'complete', cause: null, result: null, error: null, ...changed }
}

/** Settles jobs in one statement, as a worker does; the outcomes by place. */
export async function settleOn(
  connection: Connection,
  settlements: readonly Settlement[],
  worker = worker1,
): Promise<string[]> {
  const rows = await connection.run(settle, settleArgs(settlements, worker, 86_400_000))
  return rows.toSorted((a, b) => a.ordinal - b.ordinal).map(row => row.outcome)
}

export const error = {
  errorClass: 'TestError',
  message: 'it failed',
  stack: 'TestError: it failed\n    at test',
}
