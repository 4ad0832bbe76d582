import { type ErrorCode, InvalidInputError, isTaskQError, TaskQError } from '../../shared/core/errors.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import { type MigrateReport, migrate } from '../../shared/db/migrate.ts'
import { type LambdaContext, sleepUntilStopped, untilTerminated } from './budget.ts'
import { openConnection } from './connection.ts'
import { log } from './log.ts'
import { countsOfError, publishCounts } from './metrics.ts'
import { environmentSettings } from './settings.ts'

/** CloudFormation cuts the reason of a failed deployment; this much of it is sure to be shown. */
const messageCharactersMax = 1000
/** Left for closing the connection and for the answer. */
const reserveMs = 10_000

const fallbackStep = 'read the log of the migrate function, mend the cause and deploy again'
/** What to do next, where the message does not say it already. */
const nextSteps: Partial<Record<ErrorCode, string>> = {
  DATABASE_UNREACHABLE:
    'check that the secret holds the current URL and that the database accepts connections from Lambda, ' +
    'then deploy again',
  SETTING_INVALID: 'correct it and deploy again',
  EVENT_INVALID: 'migrate takes no arguments',
  MIGRATION_FAILED: 'then deploy again',
  MIGRATION_LOCKED: 'then deploy again',
  WRONG_TARGET: 'if this is the wrong database, correct the secret; then deploy again',
}

/**
 * The Lambda that a deployment invokes before all others: brings the schema to the newest version, past the
 * pooler, and settles which installation it is. Whatever fails is thrown with a message that fits into the
 * deployment's own report and ends with the next step.
 */
export function migrateHandler(purposes: readonly string[]) {
  return async (event: unknown, context: LambdaContext): Promise<MigrateReport> => {
    try {
      refuseArguments(event)
      const settings = environmentSettings()
      try {
        const report = await untilTerminated(signal => migrateOnce(settings, purposes, context, signal))
        log(settings, 'info', 'migrate done', { ...report, requestId: context.awsRequestId })
        return report
      } catch (error) {
        publishCounts(settings.schemaName, countsOfError(error))
        throw error
      }
    } catch (error) {
      throw withNextStep(error)
    }
  }
}

/** The deployment's trigger sends nothing at all; by hand it is an empty object. */
function refuseArguments(event: unknown): void {
  const [given] = typeof event === 'object' && event !== null ? Object.keys(event) : []
  if (given !== undefined) throw new InvalidInputError('EVENT_INVALID', given, 'is no member of this event')
}

async function migrateOnce(
  settings: Settings,
  purposes: readonly string[],
  context: LambdaContext,
  signal: AbortSignal,
): Promise<MigrateReport> {
  const connection = await openConnection({
    settings,
    applicationName: 'taskq-migrate',
    isDirect: true,
    queryTimeoutMs: context.getRemainingTimeInMillis() - reserveMs,
    sleep: ms => sleepUntilStopped(ms, signal),
    random: Math.random,
  })
  try {
    const { installationId, environment, deploymentId } = settings
    return await migrate(connection, {
      installation: { installationId, environment, deploymentId, purposes },
    })
  } finally {
    await connection.close()
  }
}

/** The same error, its message bounded and followed by what to do. */
export function withNextStep(error: unknown): TaskQError {
  const message = error instanceof Error ? error.message : String(error)
  const [code, field] = isTaskQError(error) ? [error.code, error.field] : (['INTERNAL', undefined] as const)
  const ending = `; ${nextSteps[code] ?? fallbackStep}`
  const room = messageCharactersMax - ending.length
  const said = message.length > room ? `${message.slice(0, room - 1)}…` : message
  return new TaskQError(code, said + ending, { ...(field !== undefined && { field }), cause: error })
}
