import { type ErrorCode, isTaskQError, TaskQError } from '../../shared/core/errors.ts'

/** CloudFormation cuts the reason of a failed deployment; this much of it is sure to be shown. */
export const messageCharactersMax = 1000

/** What to do next after an error, where its message does not say it already. */
export type NextSteps = Readonly<Partial<Record<ErrorCode, string>>>

/** What fails, as its function is named. */
interface Step {
  readonly name: string
  readonly nextSteps: NextSteps
}

const sharedSteps: NextSteps = {
  DATABASE_UNREACHABLE:
    'check that the secret holds the current URL and that the database accepts connections from Lambda, ' +
    'then deploy again',
  SETTING_INVALID: 'correct it and deploy again',
  WRONG_TARGET: 'if this is the wrong database, correct the secret; then deploy again',
}

/** The same error, its message bounded and followed by what to do. */
export function withNextStep(error: unknown, step: Step): TaskQError {
  const message = error instanceof Error ? error.message : String(error)
  const [code, field] = isTaskQError(error) ? [error.code, error.field] : (['INTERNAL', undefined] as const)
  const ending = `; ${nextStep(code, step)}`
  const room = messageCharactersMax - ending.length
  const said = message.length > room ? `${message.slice(0, room - 1)}…` : message
  return new TaskQError(code, said + ending, { ...(field !== undefined && { field }), cause: error })
}

function nextStep(code: ErrorCode, { name, nextSteps }: Step): string {
  if (code === 'EVENT_INVALID') return `${name} takes no arguments`
  const known = nextSteps[code] ?? sharedSteps[code]
  return known ?? `read the log of the ${name} function, mend the cause and deploy again`
}
