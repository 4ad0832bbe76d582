import type { Settings } from '../../shared/core/read-settings.ts'
import type { Routine, Sweep } from '../../shared/sweeper/define.ts'
import type { Runnable } from '../../shared/sweeper/invocation.ts'
import type { RunPorts, RunRequest } from '../../shared/sweeper/ports.ts'
import type { DryRunResult, RunResult } from '../../shared/sweeper/result.ts'
import { run } from '../../shared/sweeper/run.ts'
import { type LambdaContext, nowMs, sleepUntilStopped, untilTerminated } from './budget.ts'
import { connectorOf } from './connection.ts'
import { readEvent, type SweepEvent } from './event.ts'
import { log } from './log.ts'
import { countsOf, countsOfError, publishCounts } from './metrics.ts'
import { environmentSettings, unknownSettings } from './settings.ts'
import { tellable } from './tellable-error.ts'

/** The client gives up this long after the server should have: then the network is gone. */
const patienceMs = 2000

let isFirst = true

/**
 * The Lambda of a sweep: event in, result out. What cannot be had or must not be touched is thrown, so that
 * Lambda's own Errors see it; metrics and the log line follow the last commit.
 *
 * @example
 * export const handler = sweepHandler(promotion)
 */
export function sweepHandler(sweep: Sweep) {
  return routineHandler(sweep, () => sweep)
}

/** The same of a routine that needs the settings to be run. */
export function routineHandler(routine: Routine, runnableWith: (settings: Settings) => Runnable) {
  return async (event: unknown, context: LambdaContext): Promise<RunResult | DryRunResult> => {
    try {
      const settings = environmentSettings()
      if (isFirst) warnOfUnknown(settings)
      return await runFor(runnableWith(settings), readEvent(routine, event), settings, context)
    } catch (error) {
      throw tellable(error)
    }
  }
}

async function runFor(
  sweep: Runnable,
  asked: SweepEvent,
  settings: Settings,
  context: LambdaContext,
): Promise<RunResult | DryRunResult> {
  try {
    const result = await untilTerminated(signal =>
      run(sweep, requestOf(asked, settings), portsOf(sweep, asked, settings, context, signal)),
    )
    publishCounts(settings.schemaName, countsOf(result))
    logResult(settings, asked, result, context)
    return result
  } catch (error) {
    publishCounts(settings.schemaName, countsOfError(error))
    throw error
  }
}

function warnOfUnknown(settings: Settings): void {
  isFirst = false
  const unknown = unknownSettings()
  if (unknown.length > 0) log(settings, 'warn', 'variables that are no setting of this version', { unknown })
}

function requestOf(asked: SweepEvent, settings: Settings): RunRequest {
  if (asked.trigger !== 'manual') return { trigger: asked.trigger, settings }
  const { trigger, maxBatches, batchSize, maxSeconds, dryRun, resetBreaker, requestedBy, reason } = asked
  return {
    trigger,
    settings,
    requestedBy,
    reason,
    ...(maxBatches !== undefined && { maxBatches }),
    ...(batchSize !== undefined && { batchSize }),
    ...(maxSeconds !== undefined && { maxSeconds }),
    ...(dryRun !== undefined && { dryRun }),
    ...(resetBreaker !== undefined && { resetBreaker }),
  }
}

function portsOf(
  sweep: Routine,
  asked: SweepEvent,
  settings: Settings,
  context: LambdaContext,
  signal: AbortSignal,
): RunPorts {
  const sleep = (ms: number) => sleepUntilStopped(ms, signal)
  const wanted = {
    settings,
    applicationName: `taskq-${sweep.purpose}`,
    queryTimeoutMs: settings[sweep.statementTimeout] + patienceMs,
    sleep,
    random: Math.random,
  }
  const connect = connectorOf(wanted, { isSpread: asked.trigger === 'schedule' })
  const interrupted = (done: RunResult) => publishCounts(settings.schemaName, countsOf(done))
  return { connect, nowMs, sleep, remainingMs: () => context.getRemainingTimeInMillis(), signal, interrupted }
}

function logResult(
  settings: Settings,
  asked: SweepEvent,
  result: RunResult | DryRunResult,
  context: LambdaContext,
): void {
  const told = asked.trigger === 'manual' ? { requestedBy: asked.requestedBy, reason: asked.reason } : {}
  const ending = 'dryRun' in result ? 'only looked' : result.outcome
  const level = ending === 'aborted' ? 'warn' : 'info'
  const fields = { ...result, ...told, requestId: context.awsRequestId }
  log(settings, level, `${result.function} ${ending}`, fields)
}
