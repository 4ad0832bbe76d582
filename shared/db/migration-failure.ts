import { TaskQError } from '../core/errors.ts'
import { storableText } from '../core/text.ts'
import { classify, clientTimeoutCode, codeOf } from '../sql/failures.ts'
import type { MigrationFile } from './migration-files.ts'

/** The most of what the server said, so that the state and the next step fit into a deployment's report. */
const messageBytesMax = 520

/** What a failed file is told as: the place, the state that it left, and the next step. */
export function migrationFailure(file: MigrationFile | undefined, error: unknown): TaskQError {
  const said = storableText(error instanceof Error ? error.message : String(error), messageBytesMax)
  const subject = file === undefined ? 'the installation’s row' : file.file
  const state = stateAfter(file?.isTransactional ?? true, error)
  const isBusy = classify(error) === 'transient'
  const next = isBusy
    ? 'end what holds the table, or wait for it, and migrate again'
    : 'mend the cause and migrate again'
  return new TaskQError('MIGRATION_FAILED', `${subject}: ${said}; ${state}: ${next}`, { cause: error })
}

function stateAfter(isTransactional: boolean, error: unknown): string {
  const isCut = classify(error) === 'lost' || codeOf(error) === clientTimeoutCode
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
