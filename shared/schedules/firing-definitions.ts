import { actorsIn } from '../client/definitions.ts'
import { InvalidInputError } from '../core/errors.ts'
import { checkName } from '../core/names.ts'
import type { FiringDefinitions, PayloadFactory } from './payload-factory.ts'

/**
 * What of a definitions module fires schedules: its payload factories and its actors' schemas; null of one
 * that exports neither. A wrong export is refused with code `OPTION_INVALID` and its place as the field.
 *
 * @example
 * // definitions.ts
 * export const actors = [writePost]
 * export const payloadFactories = { 'todays-topic': async ({ dueAt }) => ({ day: dueAt.toISOString() }) }
 */
export function firingDefinitionsIn(definitions: unknown): FiringDefinitions | null {
  const exported = (definitions ?? {}) as { actors?: unknown; payloadFactories?: unknown }
  if (exported.actors === undefined && exported.payloadFactories === undefined) return null
  const actors = exported.actors === undefined ? [] : actorsIn(definitions)
  return {
    payloadFactories: factoriesIn(exported.payloadFactories),
    schemas: Object.fromEntries(actors.map(({ name, payload }) => [name, payload])),
  }
}

function factoriesIn(exported: unknown): Readonly<Record<string, PayloadFactory>> {
  if (exported === undefined) return {}
  if (typeof exported !== 'object' || exported === null || Array.isArray(exported)) {
    throw new InvalidInputError('OPTION_INVALID', 'payloadFactories', 'is no object of functions')
  }
  for (const [name, factory] of Object.entries(exported)) {
    checkName(`payloadFactories.${name}`, name)
    if (typeof factory === 'function') continue
    throw new InvalidInputError('OPTION_INVALID', `payloadFactories.${name}`, 'is no function')
  }
  return exported as Readonly<Record<string, PayloadFactory>>
}
