import type { Settings } from '../../shared/core/read-settings.ts'
import { expectedOf } from '../../shared/sweeper/scheduled.ts'
import { gaugeTimeoutMs, type VitalSigns, type Watch, watch } from '../../shared/sweeper/vital-signs.ts'
import { routines } from '../../shared/sweeps/index.ts'
import { type LambdaContext, nowMs, sleepUntilStopped, untilTerminated } from './budget.ts'
import { connectorOf } from './connection.ts'
import { readWatchEvent, type WatchEvent } from './event.ts'
import { log } from './log.ts'
import { countsOfError, publishCounts, publishGauges } from './metrics.ts'
import { environmentSettings } from './settings.ts'
import { tellable } from './tellable-error.ts'

/** The client gives up this long after the server should have: then the network is gone. */
const patienceMs = 2000

/**
 * The Lambda of the watcher: event in, vital signs out. Whoever asks, it reads; metrics and the log line
 * follow. What cannot be had or must not be touched is thrown, so that Lambda's own Errors see it.
 *
 * @example
 * export const handler = watchHandler(vitalSigns)
 */
export function watchHandler(watched: Watch) {
  return async (event: unknown, context: LambdaContext): Promise<VitalSigns> => {
    try {
      const settings = environmentSettings()
      return await watchFor(watched, readWatchEvent(event), settings, context)
    } catch (error) {
      throw tellable(error)
    }
  }
}

async function watchFor(
  watched: Watch,
  asked: WatchEvent,
  settings: Settings,
  context: LambdaContext,
): Promise<VitalSigns> {
  const request = { trigger: asked.trigger, settings, expected: expectedOf(routines, settings) }
  try {
    const signs = await untilTerminated(signal =>
      watch(watched, request, portsOf(watched, asked, settings, context, signal)),
    )
    if (isPublished(asked)) publishGauges(watched, signs)
    const told = asked.trigger === 'manual' ? { requestedBy: asked.requestedBy, reason: asked.reason } : {}
    const level = signs.failed.length > 0 ? 'warn' : 'info'
    log(settings, level, `${signs.function} ${signs.outcome}`, {
      ...signs,
      ...told,
      requestId: context.awsRequestId,
    })
    return signs
  } catch (error) {
    publishCounts(settings.schemaName, countsOfError(error))
    throw error
  }
}

/** A dry run and a deployment's smoke event only see whether it can read. */
function isPublished(asked: WatchEvent): boolean {
  return asked.trigger === 'manual' ? asked.dryRun !== true : asked.trigger === 'schedule'
}

function portsOf(
  { purpose }: Watch,
  asked: WatchEvent,
  settings: Settings,
  context: LambdaContext,
  signal: AbortSignal,
) {
  const wanted = {
    settings,
    applicationName: `taskq-${purpose}`,
    queryTimeoutMs: gaugeTimeoutMs + patienceMs,
    sleep: (ms: number) => sleepUntilStopped(ms, signal),
    random: Math.random,
  }
  const unread = (gauge: string, error: unknown) =>
    log(settings, 'warn', `${gauge} could not be read`, { error: String(error) })
  return {
    connect: connectorOf(wanted, { isSpread: asked.trigger === 'schedule' }),
    nowMs,
    remainingMs: () => context.getRemainingTimeInMillis(),
    unread,
  }
}
