import { InvalidInputError } from '../../shared/core/errors.ts'
import type { Verb } from './verb.ts'

/** The verb that a command begins with. */
export function verbNamed(verbs: readonly Verb[], argv: readonly string[]): Verb | undefined {
  return verbs.find(({ name }) => name.split(' ').every((word, index) => argv[index] === word))
}

/** Says which verbs there are; after the first word of two, which begin with it. */
export function unknownVerb(verbs: readonly Verb[], argv: readonly string[]): InvalidInputError {
  const [first = '', second = ''] = argv
  const alike = verbs.filter(({ name }) => name.startsWith(`${first} `))
  const isGroup = alike.length > 0
  const given = isGroup && !second.startsWith('-') ? `${first} ${second}`.trim() : first
  const wrong = isGroup && given === first ? 'lacks its second word' : 'is none'
  const known = (isGroup ? alike : verbs).map(({ name }) => name).join(', ')
  const reason = given === '' ? 'is missing' : `"${given}" ${wrong}`
  return new InvalidInputError('USAGE', 'VERB', `${reason}; there are ${known}; see "taskq --help"`)
}
