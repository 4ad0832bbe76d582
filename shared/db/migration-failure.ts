import { TaskQError } from '../core/errors.ts'
import { classify, codeOf } from '../sql/failures.ts'
import { quoteIdentifier } from '../sql/statement.ts'
import type { ScriptConnection } from './driver-connection.ts'
import type { MigrationFile } from './migration-files.ts'

/** How much is quoted, so that the state and the next step fit into a deployment's report behind it. */
const wordsCharactersMax = 60
const messageCharactersMax = 520

/** A statement of a file that failed: the server's error, with the place. It has the server's code. */
class StatementFailure extends Error {
  readonly code: string | undefined

  constructor(place: string, cause: unknown) {
    super(`${place}: ${messageOf(cause)}`, { cause })
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
      const words = cut(text.replaceAll(/\s+/g, ' '), wordsCharactersMax)
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

/** What a failed file is told as: the place, the state that it left, and the next step. */
export function migrationFailure(file: MigrationFile | undefined, error: unknown): TaskQError {
  const said = cut(messageOf(error), messageCharactersMax)
  const subject = file === undefined ? 'the installation’s row' : file.file
  const state = stateAfter(file?.isTransactional ?? true, error)
  const isBusy = classify(error) === 'transient'
  const next = isBusy
    ? 'end what holds the table, or wait for it, and migrate again'
    : 'mend the cause and migrate again'
  return new TaskQError('MIGRATION_FAILED', `${subject}: ${said}; ${state}: ${next}`, { cause: error })
}

function stateAfter(isTransactional: boolean, error: unknown): string {
  const failure = classify(error)
  const isCut = failure === 'lost' || codeOf(error) === 'CLIENT_TIMEOUT'
  if (isTransactional) {
    return isCut
      ? 'the connection is gone, and the server rolls back what was not committed'
      : 'its transaction was rolled back, and what was applied before it stands'
  }
  return isCut
    ? 'the connection is gone: a build may still be running, which the next run waits for, or have left an ' +
        'invalid index, which the next run drops'
    : 'the statements before it stand, and an index that it left invalid is dropped by the next run'
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

function cut(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax - 1)}…` : text
}
