import type { ExitCode } from './exit-code.ts'

/** What a verb ends with. */
export interface Answer {
  /** The one object that `--json` prints. */
  readonly json: unknown
  /**
   * The same for people: one line, or several; none where it is empty. A line break inside a line is shown
   * as what it is: it came with a name or an error.
   */
  readonly text: string | readonly string[]
  readonly exitCode?: ExitCode
}
