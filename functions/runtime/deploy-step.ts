import { type ErrorCode, InvalidInputError, isTaskQError, TaskQError } from '../../shared/core/errors.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import type { ScriptConnection } from '../../shared/db/driver-connection.ts'
import { type LambdaContext, sleepUntilStopped, untilTerminated } from './budget.ts'
import { openConnection } from './connection.ts'
import { log } from './log.ts'
import { countsOfError, publishCounts } from './metrics.ts'
import { environmentSettings } from './settings.ts'

/** CloudFormation cuts the reason of a failed deployment; this much of it is sure to be shown. */
export const messageCharactersMax = 1000
/** Left for closing the connection and for the answer. */
const reserveMs = 10_000

/** What to do next after an error, where its message does not say it already. */
export type NextSteps = Readonly<Partial<Record<ErrorCode, string>>>

const sharedSteps: NextSteps = {
  DATABASE_UNREACHABLE:
    'check that the secret holds the current URL and that the database accepts connections from Lambda, ' +
    'then deploy again',
  SETTING_INVALID: 'correct it and deploy again',
  WRONG_TARGET: 'if this is the wrong database, correct the secret; then deploy again',
}

/** A Lambda that a deployment invokes by itself, before the functions that its rules start. */
export interface DeployStep<Report extends object> {
  /** As the function and its log are named. */
  readonly name: string
  readonly nextSteps: NextSteps
  /** `open` opens one more connection of the invocation; the step closes what it opened. */
  readonly work: (settings: Settings, open: OpenConnection) => Promise<Report>
}

export type OpenConnection = (options: { readonly isDirect: boolean }) => Promise<ScriptConnection>

/**
 * The handler of a step of the deployment. Whatever fails is thrown with a message that fits into the
 * deployment's own report and ends with the next step.
 */
export function deployStep<Report extends object>(step: DeployStep<Report>) {
  return async (event: unknown, context: LambdaContext): Promise<Report> => {
    try {
      refuseArguments(event)
      const settings = environmentSettings()
      try {
        const report = await untilTerminated(signal =>
          step.work(settings, opener(step.name, settings, context, signal)),
        )
        log(settings, 'info', `${step.name} done`, { ...report, requestId: context.awsRequestId })
        return report
      } catch (error) {
        publishCounts(settings.schemaName, countsOfError(error))
        throw error
      }
    } catch (error) {
      throw withNextStep(error, step)
    }
  }
}

/** The deployment's trigger sends nothing at all; by hand it is an empty object. */
function refuseArguments(event: unknown): void {
  const [given] = typeof event === 'object' && event !== null ? Object.keys(event) : []
  if (given !== undefined) throw new InvalidInputError('EVENT_INVALID', given, 'is no member of this event')
}

function opener(
  name: string,
  settings: Settings,
  context: LambdaContext,
  signal: AbortSignal,
): OpenConnection {
  return ({ isDirect }) =>
    openConnection({
      settings,
      applicationName: `taskq-${name}`,
      isDirect,
      queryTimeoutMs: context.getRemainingTimeInMillis() - reserveMs,
      sleep: ms => sleepUntilStopped(ms, signal),
      random: Math.random,
    })
}

/** The same error, its message bounded and followed by what to do. */
export function withNextStep(
  error: unknown,
  step: Pick<DeployStep<object>, 'name' | 'nextSteps'>,
): TaskQError {
  const message = error instanceof Error ? error.message : String(error)
  const [code, field] = isTaskQError(error) ? [error.code, error.field] : (['INTERNAL', undefined] as const)
  const ending = `; ${nextStep(code, step)}`
  const room = messageCharactersMax - ending.length
  const said = message.length > room ? `${message.slice(0, room - 1)}…` : message
  return new TaskQError(code, said + ending, { ...(field !== undefined && { field }), cause: error })
}

function nextStep(
  code: ErrorCode,
  { name, nextSteps }: Pick<DeployStep<object>, 'name' | 'nextSteps'>,
): string {
  if (code === 'EVENT_INVALID') return `${name} takes no arguments`
  const known = nextSteps[code] ?? sharedSteps[code]
  return known ?? `read the log of the ${name} function, mend the cause and deploy again`
}
