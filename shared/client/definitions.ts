import { InvalidInputError } from '../core/errors.ts'
import type { Actor } from './define-actor.ts'

/**
 * The actors of a definitions module, which exports them as `actors`, an array or an object of what
 * `defineActor` returns. Anything else is refused with code `OPTION_INVALID` and its place as the field, and
 * so are two actors of one name: only one of them could be stored.
 *
 * @example
 * // definitions.ts
 * export const actors = [sendReceipt, resizeImage]
 */
export function actorsIn(definitions: unknown): Actor[] {
  const exported = isObject(definitions) ? definitions['actors'] : undefined
  if (!isObject(exported)) {
    throw refused('actors', 'the definitions module must export an array or an object of actors by this name')
  }
  const places = new Map<string, string>()
  return Object.entries(exported).map(([key, value]) => {
    const place = Array.isArray(exported) ? `actors[${key}]` : `actors.${key}`
    if (!isActor(value)) throw refused(place, `is no actor${isRunnable(value) ? withHandler : ''}`)
    const other = places.get(value.name)
    if (other !== undefined) throw refused(place, `is named "${value.name}", as ${other} is`)
    places.set(value.name, place)
    return value
  })
}

const withHandler = ': it has its handler already; export what defineActor returned, and run it elsewhere'

function isActor(value: unknown): value is Actor {
  return isNamed(value) && isObject(value['retry']) && typeof value['run'] === 'function'
}

const isRunnable = (value: unknown) => isNamed(value) && typeof value['handler'] === 'function'

function isNamed(value: unknown): value is Record<string, unknown> {
  return isObject(value) && typeof value['name'] === 'string' && typeof value['queue'] === 'string'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function refused(field: string, reason: string): InvalidInputError {
  return new InvalidInputError('OPTION_INVALID', field, reason)
}
