import { randomUUID } from 'node:crypto'
import type { RunnableActor } from '../client/handler.ts'
import { InvalidInputError } from '../core/errors.ts'
import { checkName } from '../core/names.ts'
import type { Settings } from '../core/read-settings.ts'
import { storableText } from '../core/text.ts'
import type { WorkerIdentity } from './heartbeat.ts'

/** What a worker works on. */
export interface WorkerOptions {
  /** Actors with their handlers, as `actor.run(handler)` makes them. */
  readonly actors: readonly RunnableActor[]
  /** The queues to serve; where absent those of `TASKQ_QUEUES`, or else the actors' own. */
  readonly queues?: readonly string[]
  /** Handlers that run at a time; `TASKQ_MAX_CONCURRENCY` where absent. */
  readonly concurrency?: number
}

export interface CheckedOptions {
  readonly actors: ReadonlyMap<string, RunnableActor>
  readonly queues: readonly string[]
  readonly concurrency: number
}

const concurrencyMax = 10_000

/** Checks a worker's options; a wrong one is an error with code `OPTION_INVALID` and its `field`. */
export function checkOptions(
  options: WorkerOptions,
  settings: Pick<Settings, 'maxConcurrency' | 'queues'>,
): CheckedOptions {
  if (typeof options !== 'object' || options === null) throw refused('options', 'is no object')
  const { actors: given } = options
  if (!Array.isArray(given) || given.length === 0) throw refused('actors', 'is empty')
  const actors = new Map<string, RunnableActor>()
  for (const [index, actor] of given.entries()) {
    if (typeof actor?.handler !== 'function') {
      throw refused(`actors[${index}]`, 'has no handler: pass what actor.run(handler) returns')
    }
    checkName(`actors[${index}].name`, actor.name)
    if (actors.has(actor.name)) throw refused(`actors[${index}]`, `"${actor.name}" is there twice`)
    actors.set(actor.name, actor)
  }
  if (options.queues !== undefined && !Array.isArray(options.queues)) throw refused('queues', 'is no list')
  const fallback = settings.queues.length > 0 ? settings.queues : given.map(actor => actor.queue)
  const queues = [...new Set(options.queues ?? fallback)]
  if (queues.length === 0) throw refused('queues', 'is empty')
  for (const [index, queue] of queues.entries()) {
    if (typeof queue !== 'string') throw refused(`queues[${index}]`, 'is no text')
    checkName(`queues[${index}]`, queue)
  }
  const atATime = options.concurrency ?? settings.maxConcurrency
  if (!Number.isInteger(atATime) || atATime < 1 || atATime > concurrencyMax) {
    throw refused('concurrency', `is not a whole number 1..${concurrencyMax}`)
  }
  return { actors, queues, concurrency: atATime }
}

/** A new worker: an id that no other ever had, and a name that people recognise. */
export function newIdentity(
  kind: WorkerIdentity['kind'],
  hostname: string,
  name: string,
  queues: readonly string[],
): WorkerIdentity {
  return {
    workerId: randomUUID(),
    kind,
    hostname: storableText(hostname, 255),
    name: storableText(name, 255),
    queues,
  }
}

function refused(field: string, reason: string): InvalidInputError {
  return new InvalidInputError('OPTION_INVALID', field, reason)
}
