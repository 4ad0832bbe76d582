import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../../../shared/core/read-settings.ts'
import type { ScriptConnection } from '../../../shared/db/driver-connection.ts'
import type { TaskQClient } from '../../entry/client.ts'
import { type RunnableActor, runWorker } from '../../entry/worker.ts'
import type { LocalDeployment } from '../local-deployment.ts'
import type { WorkerChild } from '../worker-child.ts'
import type { WorkerMode } from '../worker-messages.ts'

/** What every step of the tour works with. */
export interface Tour {
  readonly deployment: LocalDeployment
  /** The application's client. */
  readonly client: TaskQClient
  readonly settings: Settings
  /** A connection beside it, to look and to open transactions with. */
  readonly database: ScriptConnection
  /** Every job that was enqueued. */
  readonly enqueued: Set<string>
  /** How often a handler has done the work of each job. */
  readonly handled: Map<string, number>
  startWorker(mode: WorkerMode): Promise<WorkerChild>
  readonly signal: AbortSignal
}

/** A step: what it shows, and what it found; a check that fails throws. */
export interface Step {
  readonly name: string
  readonly run: (tour: Tour) => Promise<Facts>
}

/** What a step prints, in its order. */
export type Facts = Readonly<Record<string, number | string>>

/** Something that must hold does not. */
export class CheckFailure extends Error {
  override readonly name = 'CheckFailure'
}

/** Fails the step unless what was seen is what must be. */
export function expectEqual(what: string, seen: unknown, expected: unknown): void {
  const [is, should] = [JSON.stringify(seen), JSON.stringify(expected)]
  if (is !== should) throw new CheckFailure(`${what}: ${is} instead of ${should}`)
}

/** Works on one actor's jobs in this process for as long as something takes. */
export async function workHere<T>(tour: Tour, actor: RunnableActor, during: () => Promise<T>): Promise<T> {
  const worker = await runWorker({ actors: [actor], settings: tour.settings, signal: tour.signal })
  try {
    return await during()
  } finally {
    await worker.stop()
    await worker.done
  }
}

const pollMs = 25
const patienceMs = 60_000

/** Looks again and again until a fact holds; a minute is far more than any of them needs. */
export async function waitFor<T>(
  tour: Tour,
  what: string,
  look: () => Promise<T>,
  holds: (seen: T) => boolean,
): Promise<T> {
  const endsAt = performance.now() + patienceMs
  for (;;) {
    tour.signal.throwIfAborted()
    const seen = await look()
    if (holds(seen)) return seen
    if (performance.now() > endsAt) throw new CheckFailure(`${what}: still ${JSON.stringify(seen)}`)
    await sleep(pollMs)
  }
}

/** Waits until every job's handler has said that it did its work, once and no more than once. */
export async function expectHandledOnce(tour: Tour, ids: readonly string[]): Promise<void> {
  const look = async () => ids.filter(id => tour.handled.has(id)).length
  await waitFor(tour, 'handlers that did their work', look, seen => seen === ids.length)
  expectEqual('handlers that did it again', ids.filter(id => tour.handled.get(id) !== 1).length, 0)
}
