import { Logger } from '@aws-lambda-powertools/logger'
import type { Settings } from '../../shared/core/read-settings.ts'

type Level = Settings['logLevel']

const levels: readonly Level[] = ['debug', 'info', 'warn', 'error']
let logger: Logger | undefined

/**
 * Prints one line of JSON, if its level is worth printing. The setting decides that here, because the logger
 * obeys the level of the Lambda platform instead; and the platform is told to drop nothing, because it would
 * drop metrics too: their lines carry no level.
 *
 * The logger writes to the standard output itself. What goes through `console` is wrapped by the platform,
 * as a text inside another JSON.
 */
export function log(settings: Settings, level: Level, message: string, fields: object = {}): void {
  if (levels.indexOf(level) < levels.indexOf(settings.logLevel)) return
  logger ??= new Logger({ serviceName: 'taskq', logLevel: 'DEBUG' })
  logger[level](message, fields as Record<string, string>)
}
