import { storableText } from '../core/text.ts'
import { codeOf } from '../sql/failures.ts'
import { quoteIdentifier } from '../sql/statement.ts'
import type { ScriptConnection } from './driver-connection.ts'
import type { MigrationFile } from './migration-files.ts'

/** How much of a statement is quoted where it failed. */
const wordsBytesMax = 60

/** A statement of a file that failed: the server's error, with the place. It has the server's code. */
class StatementFailure extends Error {
  readonly code: string | undefined

  constructor(place: string, cause: unknown) {
    super(`${place}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.code = codeOf(cause)
  }
}

/** Runs a file's statements one by one, each in a message of its own. */
export async function runStatements(connection: ScriptConnection, file: MigrationFile): Promise<void> {
  const schema = quoteIdentifier(connection.schema)
  for (const [index, { text, line }] of file.statements.entries()) {
    const sent = text.replaceAll('{schema}', schema)
    try {
      await connection.script(sent)
    } catch (error) {
      const words = storableText(text.replaceAll(/\s+/g, ' '), wordsBytesMax)
      const at = line + linesBefore(sent, error)
      const place = `statement ${index + 1} of ${file.statements.length}, line ${at} (${words})`
      throw new StatementFailure(place, error)
    }
  }
}

/** How far into a statement its error stands, where the server says so; a schema's name has no line break. */
function linesBefore(sent: string, error: unknown): number {
  const { position } = (error ?? {}) as { position?: unknown }
  return [...sent].slice(0, Number(position ?? 1) - 1).filter(character => character === '\n').length
}
