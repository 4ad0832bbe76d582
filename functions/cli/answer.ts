import type { ExitCode } from './exit-code.ts'

/** What a verb ends with. */
export interface Answer {
  /** The one object that `--json` prints. */
  readonly json: unknown
  /** The same for people; no line where it is empty. */
  readonly text: string
  readonly exitCode?: ExitCode
}
