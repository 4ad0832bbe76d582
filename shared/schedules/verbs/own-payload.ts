import { InvalidInputError, isTaskQError } from '../../core/errors.ts'
import { storableText } from '../../core/text.ts'
import { makePayload } from '../payload-factory.ts'
import type { HeldSchedule } from './held-schedule.ts'
import type { VerbPorts } from './verb-ports.ts'

/**
 * The payload of one job of a schedule, as a part of its instant: nothing where the schedule's own is stored,
 * else what its factory makes. A factory that this process does not have, or that fails, is refused.
 */
export async function ownPayload(
  { settings, definitions }: VerbPorts,
  { name, definition }: HeldSchedule,
  dueAt: Date,
  latenessMs: number,
): Promise<{ readonly payload?: unknown }> {
  const { actor, payloadFactory } = definition
  if (payloadFactory === null) return {}
  const factories = definitions?.payloadFactories ?? {}
  const factory = Object.hasOwn(factories, payloadFactory) ? factories[payloadFactory] : undefined
  if (factory === undefined) {
    const reason = `is missing: factory "${payloadFactory}" makes it, and is not here`
    throw new InvalidInputError('OPTION_INVALID', 'payload', reason)
  }
  const bounds = {
    timeoutMs: settings.cronPayloadFactoryTimeout,
    payloadBytesMax: settings.payloadMaxBytes,
  }
  const occasion = { schedule: name, dueAt, latenessMs }
  try {
    return { payload: await makePayload(factory, occasion, schemaOf(definitions, actor), bounds) }
  } catch (error) {
    if (isTaskQError(error)) throw error
    const message = storableText(error instanceof Error ? error.message : String(error), 1024)
    const reason = `"${payloadFactory}" failed: ${message}`
    throw new InvalidInputError('PAYLOAD_INVALID', 'payloadFactory', reason, { cause: error })
  }
}

/** The schema of an actor, where this process has its definition. */
export function schemaOf(definitions: VerbPorts['definitions'], actor: string) {
  return definitions !== null && Object.hasOwn(definitions.schemas, actor)
    ? definitions.schemas[actor]
    : undefined
}
