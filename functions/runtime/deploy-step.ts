import { InvalidInputError } from '../../shared/core/errors.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import type { ScriptConnection } from '../../shared/db/driver-connection.ts'
import { type LambdaContext, sleepUntilStopped, untilTerminated } from './budget.ts'
import { openConnection } from './connection.ts'
import { log } from './log.ts'
import { countsOfError, publishCounts } from './metrics.ts'
import { type NextSteps, withNextStep } from './next-step.ts'
import { environmentSettings } from './settings.ts'

/** Left for closing the connection and for the answer. */
const reserveMs = 10_000

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
