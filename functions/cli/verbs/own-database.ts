import { InvalidInputError } from '../../../shared/core/errors.ts'
import type { Call } from '../verb.ts'

/** Refuses an address where a verb brings its own database: whoever gave one meant that one. */
export function refuseAddress(call: Call): void {
  if (call.text('database-url') === undefined) return
  throw new InvalidInputError(
    'USAGE',
    '--database-url',
    'is not for this verb, which brings its own database',
  )
}
