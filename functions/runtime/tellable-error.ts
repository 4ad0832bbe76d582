import { permissionDenied } from '../../shared/client/failures.ts'
import { isTaskQError } from '../../shared/core/errors.ts'

/**
 * An error as a function throws it. Of an error Lambda tells whoever invoked its name and its message, so an
 * error of ours has its code for a name; a grant that the login lacks is one of ours, with the next step.
 */
export function tellable(error: unknown): unknown {
  const told = permissionDenied(error) ?? error
  if (isTaskQError(told)) told.name = told.code
  return told
}
