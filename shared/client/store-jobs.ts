import { TaskQError } from '../core/errors.ts'
import type { Settings } from '../core/read-settings.ts'
import { type Queryable, type Runner, runOn } from '../sql/connection.ts'
import { allOrNothing } from './caller-transaction.ts'
import type { Connections } from './connections.ts'
import { callersError } from './failures.ts'
import { type Job, selectJob } from './get-job.ts'
import { type Enqueued, insertArgs, insertJobs, type JobsToStore, readAnswer } from './insert-jobs.ts'
import { inOwnTransaction, twiceAtMost } from './own-transaction.ts'
import { type Retried, readRetry, retryJob } from './retry-job.ts'

export interface StorePorts {
  readonly connections: Connections
  readonly settings: Settings
}

type Insert = (args: ReturnType<typeof insertArgs>) => Promise<Parameters<typeof readAnswer>[0]>

/** How often a job may vanish between two statements before it is no coincidence. */
const triesMax = 5

/**
 * Stores jobs in a transaction of ours: one statement where nothing can split, else all chunks in one. It is
 * safe to repeat, because the ids are ours: what was stored before the reply was lost is answered as created.
 */
export async function storeInOwn(ports: StorePorts, chunks: readonly JobsToStore[]): Promise<Enqueued[]> {
  const [only] = chunks
  if (only === undefined) return []
  if (chunks.length > 1 || canSplit(only)) {
    const storeAll = (transaction: Runner) =>
      storeChunks(args => transaction.run(insertJobs, args), chunks, ports.settings)
    return twiceAtMost(() => ports.connections.use(c => inOwnTransaction(c, ports.settings, storeAll)))
  }
  return twiceAtMost(() =>
    ports.connections.lone(runner => storeChunk(args => runner.run(insertJobs, args), only, ports.settings)),
  )
}

/** Stores jobs in the caller's transaction, behind a savepoint where a refusal could come half-way. */
export async function storeInTransaction(
  settings: Settings,
  tx: Queryable,
  chunks: readonly JobsToStore[],
): Promise<Enqueued[]> {
  const insert: Insert = args => runOn(tx, settings.schemaName, insertJobs, args)
  const [only] = chunks
  try {
    if (only === undefined) return []
    if (chunks.length === 1 && !canSplit(only)) return await storeChunk(insert, only, settings)
    return await allOrNothing(tx, () => storeChunks(insert, chunks, settings))
  } catch (error) {
    throw callersError(error)
  }
}

/** Reads one job on a connection of ours. */
export async function readJob(ports: StorePorts, id: string): Promise<Job | undefined> {
  const [row] = await twiceAtMost(() => ports.connections.lone(runner => runner.run(selectJob, { id })))
  return row as Job | undefined
}

/** Redrives one job in a transaction of ours, which waits for a tick of its schedule as long as one takes. */
export async function retryInOwn({ connections, settings }: StorePorts, id: string): Promise<Retried> {
  let tries = 0
  const retryOnce = async (transaction: Runner) => {
    const [row] = await transaction.run(retryJob, { id })
    return readRetry(row, id, { isRepeated: tries > 1 })
  }
  return twiceAtMost(() => {
    tries++
    const bounds = { lockTimeoutMs: settings.cronTickTimeoutMs }
    return connections.use(c => inOwnTransaction(c, settings, retryOnce, bounds))
  }, 'holds the job or its schedule')
}

/** Whether some of the jobs could be stored and another be refused: two payloads for one key. */
const canSplit = (jobs: JobsToStore) => jobs.keys.length > 1

async function storeChunk(insert: Insert, jobs: JobsToStore, settings: Settings): Promise<Enqueued[]> {
  for (let tries = 1; tries <= triesMax; tries++) {
    const enqueued = readAnswer(await insert(insertArgs(jobs, settings)), jobs, settings)
    if (enqueued !== undefined) return enqueued
  }
  throw new TaskQError('LOCK_TIMEOUT', 'the job that holds the idempotency key was deleted again and again')
}

async function storeChunks(insert: Insert, chunks: readonly JobsToStore[], settings: Settings) {
  const enqueued: Enqueued[] = []
  for (const jobs of chunks) enqueued.push(...(await storeChunk(insert, jobs, settings)))
  return enqueued
}
