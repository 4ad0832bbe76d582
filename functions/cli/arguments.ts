import { parseArgs } from 'node:util'
import { InvalidInputError } from '../../shared/core/errors.ts'
import { commonFlags } from './help.ts'
import type { Verb } from './verb.ts'

/** The words and flags that a verb was given. */
export interface Arguments {
  readonly words: readonly string[]
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
}

/** Reads a verb's arguments. What it does not take, and what it lacks, is refused as `USAGE` by name. */
export function readArguments(verb: Verb, argv: readonly string[]): Arguments {
  const { values, positionals } = parsed(verb, argv)
  const missing = verb.words[positionals.length]
  if (missing !== undefined && !missing.startsWith('[') && values['help'] !== true) {
    throw new InvalidInputError('USAGE', missing, `is missing; see "taskq ${verb.name} --help"`)
  }
  const extra = positionals[verb.words.length]
  if (extra !== undefined) {
    throw new InvalidInputError('USAGE', JSON.stringify(extra), `is one word too many for taskq ${verb.name}`)
  }
  return { words: positionals, flags: values }
}

function parsed(verb: Verb, argv: readonly string[]) {
  const options = Object.entries({ ...commonFlags, ...verb.flags }).map(([name, flag]) => [
    name,
    { type: 'value' in flag && flag.value !== undefined ? 'string' : 'boolean' } as const,
  ])
  try {
    return parseArgs({
      args: [...argv],
      options: Object.fromEntries(options) as Record<string, { type: 'string' | 'boolean' }>,
      allowPositionals: true,
    }) as { values: Record<string, string | boolean | undefined>; positionals: string[] }
  } catch (error) {
    // The parser goes on to explain what "--" is for; the help says enough.
    const message = (error instanceof Error ? error.message : String(error)).replace(/\. To specify .*/s, '')
    const flag = /'?(--?[\w-]+)/.exec(message)?.[1] ?? 'arguments'
    throw new InvalidInputError('USAGE', flag, `${message}; see "taskq ${verb.name} --help"`, {
      cause: error,
    })
  }
}

/** A whole number that a flag was given, in a range. */
export function wholeNumberFlag(flag: string, text: string | undefined, min: number, max: number) {
  if (text === undefined) return undefined
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new InvalidInputError('USAGE', `--${flag}`, `"${text}" is not a whole number ${min}..${max}`)
}
