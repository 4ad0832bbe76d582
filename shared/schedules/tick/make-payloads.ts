import { storableError } from '../../core/text.ts'
import { type FiringDefinitions, type MakingBounds, makePayload } from '../payload-factory.ts'
import type { DueSchedule } from './due-schedules.ts'
import type { PlannedFire, PlannedInstant } from './fire.ts'
import { troubleOf } from './plan-schedule.ts'
import type { Trouble } from './trouble.ts'

/** A planned schedule and the row that it was planned from. */
export interface Planned {
  readonly due: DueSchedule
  readonly fire: PlannedFire
}

export interface MakingPorts {
  /** Null: this process has no definitions module, so that it knows no factory. */
  readonly definitions: FiringDefinitions | null
  readonly bounds: MakingBounds
  /** Whether a factory that begins now could have its whole time. */
  readonly hasTime: () => boolean
}

/** Factories that run at once: one that hangs holds nobody up, and a pool of connections bears them. */
const atATime = 10

/**
 * Calls the payload factories of some schedules, outside any transaction. Each instant has its own time, and
 * none begins that could not have all of it: it is deferred. Of a schedule the instants before the first that
 * came to nothing are fired all the same, and its cursor stands at that one.
 */
export async function makePayloads(
  planned: readonly Planned[],
  ports: MakingPorts,
): Promise<{ ready: PlannedFire[]; troubles: Trouble[] }> {
  const ready: PlannedFire[] = []
  const troubles: Trouble[] = []
  const left = [...planned]
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { fires, trouble } = await makeInstants(next, ports)
      const { fire } = next
      if (trouble === undefined) ready.push({ ...fire, fires })
      else {
        const at = fire.fires[fires.length]?.at ?? null
        if (fires.length > 0) ready.push({ ...fire, fires, next: at })
        troubles.push(fires.length > 0 ? { ...trouble, cursor: at ?? fire.cursor } : trouble)
      }
    }
  }
  await Promise.all(Array.from({ length: atATime }, work))
  return { ready, troubles }
}

/**
 * Keeps an error that a factory leaves behind, in a timer or in a promise that nobody awaits, from ending the
 * process with all that the others made, until it is disposed of: it is a warning, since nobody can say whose
 * it was.
 */
export function outlivingStrays(): Disposable {
  const warn = (error: unknown) =>
    process.emitWarning(`a payload factory left an error behind: ${storableError(error).message}`)
  process.on('unhandledRejection', warn)
  process.on('uncaughtException', warn)
  return {
    [Symbol.dispose]: () => {
      process.off('unhandledRejection', warn)
      process.off('uncaughtException', warn)
    },
  }
}

async function makeInstants({ due, fire }: Planned, ports: MakingPorts) {
  const { definitions, bounds, hasTime } = ports
  const name = due.payloadFactory ?? ''
  const fires: PlannedInstant[] = []
  if (definitions === null) {
    return { fires, trouble: troubleOf(due, 'defer', `payload factory "${name}": no definitions are here`) }
  }
  const factory = Object.hasOwn(definitions.payloadFactories, name)
    ? definitions.payloadFactories[name]
    : undefined
  if (factory === undefined) {
    return { fires, trouble: troubleOf(due, 'strike', `payload factory "${name}" is in no definition`) }
  }
  const schema = Object.hasOwn(definitions.schemas, due.actor) ? definitions.schemas[due.actor] : undefined
  for (const instant of fire.fires) {
    if (!hasTime()) {
      return { fires, trouble: troubleOf(due, 'defer', 'no time was left for its payload factory') }
    }
    const latenessMs = Math.max(0, Math.floor(due.nowMs) - Date.parse(instant.at))
    const occasion = { schedule: due.name, dueAt: new Date(instant.due), latenessMs }
    try {
      fires.push({ ...instant, payload: await makePayload(factory, occasion, schema, bounds) })
    } catch (error) {
      return { fires, trouble: troubleOf(due, 'strike', error) }
    }
  }
  return { fires, trouble: undefined }
}
