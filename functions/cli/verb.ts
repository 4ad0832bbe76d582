import type { Environment, Settings } from '../../shared/core/read-settings.ts'
import type { Answer } from './answer.ts'
import type { Output } from './output.ts'

/** One flag of a verb: how it is parsed and what the help says of it. */
export interface Flag {
  /** What stands for its value in the help; undefined: it takes none. */
  readonly value?: string
  readonly doc: string
}

export type Flags = Readonly<Record<string, Flag>>

/** One command: what it is called with, what it says of itself, and what it does. */
export interface Verb {
  /** One word, or two: `functions enable`. */
  readonly name: string
  /** What becomes true, as one line. */
  readonly summary: string
  /** The words that it is given, in order, as the help shows them; one in brackets may be left out. */
  readonly words: readonly string[]
  readonly flags: Flags
  readonly run: (call: Call) => Promise<Answer>
}

/** One use of a verb. */
export interface Call {
  /** The given words, in the order of the verb's. */
  readonly words: readonly string[]
  /** The value of a flag that takes one. */
  readonly text: (flag: string) => string | undefined
  /** Whether a flag without a value was given. */
  readonly has: (flag: string) => boolean
  /** The process's environment, with what the flags override. */
  readonly environment: Environment
  /** The settings read from it. */
  readonly settings: Settings
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal
  readonly output: Output
}
