import { TaskQError, WrongTargetError } from '../core/errors.ts'
import { roleName } from '../core/names.ts'
import type { Settings } from '../core/read-settings.ts'
import { type BatchOpening, type Connection, type Queryable, runOn } from '../sql/connection.ts'
import { classify, clientTimeoutCode, codeOf } from '../sql/failures.ts'
import { allOrNothing } from './caller-transaction.ts'
import type { Connections } from './connections.ts'
import { callersError } from './failures.ts'
import { type Job, selectJob } from './get-job.ts'
import { type Enqueued, insertArgs, insertJobs, type JobsToStore, readAnswer } from './insert-jobs.ts'

export interface StorePorts {
  readonly connections: Connections
  readonly settings: Settings
}

type Insert = (args: ReturnType<typeof insertArgs>) => Promise<Parameters<typeof readAnswer>[0]>

/** How often a job may vanish between two statements before it is no coincidence. */
const triesMax = 5

/** The bounds of a transaction of ours over several chunks; a single statement needs none. */
const chunkTimeoutMs = 10_000
const transactionTimeoutMs = 60_000

/** Stores jobs in a transaction of ours: one statement where nothing can split, else all chunks in one. */
export async function storeInOwn(ports: StorePorts, chunks: readonly JobsToStore[]): Promise<Enqueued[]> {
  const [only] = chunks
  if (only === undefined) return []
  if (chunks.length > 1 || canSplit(only))
    return twiceAtMost(() => ports.connections.use(c => inOneTransaction(ports, c, chunks)))
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

async function inOneTransaction(
  { settings }: StorePorts,
  connection: Connection,
  chunks: readonly JobsToStore[],
): Promise<Enqueued[]> {
  try {
    const opened = await connection.openBatch(opening(settings))
    if (opened === 'wrong_target') throw new WrongTargetError(settings.schemaName)
    const enqueued = await storeChunks(args => connection.run(insertJobs, args), chunks, settings)
    await connection.commit()
    return enqueued
  } catch (error) {
    await connection.rollback()
    throw error
  }
}

function opening(settings: Settings): BatchOpening {
  const { batchLockTimeoutMs, installationId, environment } = settings
  return {
    lock: null,
    statementTimeoutMs: chunkTimeoutMs,
    lockTimeoutMs: batchLockTimeoutMs,
    idleTimeoutMs: chunkTimeoutMs,
    transactionTimeoutMs,
    role: roleName(settings, 'client'),
    target: { installationId, environment },
  }
}

/**
 * Does some work, once more where its connection was lost: a socket that died while the process was frozen
 * says so only now. It is safe to repeat, because the ids are ours: what was stored before the reply was lost
 * is answered as created.
 */
async function twiceAtMost<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work().catch(error => {
      if (!isLost(error)) throw error
      return work()
    })
  } catch (error) {
    throw callersError(error)
  }
}

function isLost(error: unknown): boolean {
  if (error instanceof TaskQError) return false
  return classify(error) === 'lost' || codeOf(error) === clientTimeoutCode
}
