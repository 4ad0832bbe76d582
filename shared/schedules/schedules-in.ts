import { InvalidInputError, isTaskQError } from '../core/errors.ts'
import { defineSchedule, type Schedule } from './define-schedule.ts'

/**
 * The schedules of a definitions module, which exports them as `schedules`, an array or an object of what
 * `defineSchedule` returns; none where it exports nothing by that name. Anything else is refused with code
 * `OPTION_INVALID` and its place as the field, and so are two schedules of one name.
 *
 * @example
 * // definitions.ts
 * export const schedules = [dailyPost, monthlyInvoice]
 */
export function schedulesIn(definitions: unknown): Schedule[] {
  const exported = (definitions as { schedules?: unknown } | undefined | null)?.schedules
  if (exported === undefined) return []
  if (typeof exported !== 'object' || exported === null) {
    throw refused('schedules', 'is no array or object of schedules')
  }
  const places = new Map<string, string>()
  return Object.entries(exported).map(([key, value]) => {
    const place = Array.isArray(exported) ? `schedules[${key}]` : `schedules.${key}`
    const schedule = scheduleAt(place, value)
    const other = places.get(schedule.name)
    if (other !== undefined) throw refused(place, `is named "${schedule.name}", as ${other} is`)
    places.set(schedule.name, place)
    return schedule
  })
}

/** Reads it once more, since it may come from another copy of this package, or from none. */
function scheduleAt(place: string, value: unknown): Schedule {
  try {
    return defineSchedule(value as Schedule)
  } catch (error) {
    if (!isTaskQError(error)) throw error
    const reason = error.message.replace(`${error.field}: `, '')
    const field = error.field === 'schedule' ? place : `${place}.${error.field}`
    throw new InvalidInputError(error.code, field, reason, { cause: error })
  }
}

function refused(field: string, reason: string): InvalidInputError {
  return new InvalidInputError('OPTION_INVALID', field, reason)
}
