// The user's own module, where there is one: it makes the payloads that a schedule does not hold itself.
import * as definitions from 'taskq-definitions'
import { cronHandler } from './runtime/cron-handler.ts'

/** Fires schedules that are due. */
export const handler = cronHandler(definitions)
