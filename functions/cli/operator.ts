import { hostname, userInfo } from 'node:os'
import { InvalidInputError } from '../../shared/core/errors.ts'
import type { Operator } from '../../shared/sweeper/operate.ts'
import { reasonText, requesterCharactersMax } from '../runtime/event.ts'
import type { Call } from './verb.ts'

/** The flag of every verb that changes what an operator must be able to account for. */
export const reasonFlag = { value: 'TEXT', doc: 'why, for the audit' } as const

/** Who runs this command, by the operating system, and the reason that was given. */
export function operatorOf(call: Call): Operator {
  return { principal: `${userName()}@${hostname()}`.slice(0, requesterCharactersMax), reason: reasonOf(call) }
}

function reasonOf(call: Call): string | null {
  const text = call.text('reason')
  if (text === undefined) return null
  const read = reasonText.safeParse(text)
  if (read.success) return read.data
  throw new InvalidInputError('USAGE', '--reason', read.error.issues[0]?.message ?? 'is wrong')
}

/** A container may run as a number that no file of users knows. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
