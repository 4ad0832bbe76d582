import { syncOf } from '../../shared/schedules/verbs/sync-definitions.ts'
import { deployStep } from './deploy-step.ts'
import type { NextSteps } from './next-step.ts'

export const syncSteps: NextSteps = {
  ACTOR_UNKNOWN: 'correct the definitions and deploy again',
  LOCK_TIMEOUT: 'then deploy again',
  NOT_MIGRATED: 'run migrate first, as a deployment does, then deploy again',
  OPTION_INVALID: 'correct the definitions and deploy again',
  PAYLOAD_INVALID: 'correct the definitions and deploy again',
  PAYLOAD_TOO_LARGE: 'correct the definitions and deploy again',
  TEXT_INVALID: 'correct the definitions and deploy again',
}

/**
 * The Lambda that a deployment invokes after migrate: stores what the user's definitions module exports. It
 * needs no direct connection, since a transaction of one statement is what a pooler is for.
 */
export function syncHandler(definitions: unknown) {
  return deployStep({
    name: 'sync',
    nextSteps: syncSteps,
    work: async (settings, open) => {
      // Refused before anybody connects.
      const sync = syncOf(definitions)
      const connection = await open({ isDirect: false })
      try {
        return await sync(connection, settings, 'sync')
      } finally {
        await connection.close()
      }
    },
  })
}
