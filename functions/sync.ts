// The user's own module: the build leaves the name open, and the user's project says what stands behind it.
import * as definitions from 'taskq-definitions'
import { syncHandler } from './runtime/sync-handler.ts'

/** Stores the definitions of this deployment. */
export const handler = syncHandler(definitions)
