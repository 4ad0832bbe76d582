import { actorsIn } from '../../shared/client/definitions.ts'
import { syncActors } from '../../shared/client/sync-actors.ts'
import { deployStep } from './deploy-step.ts'
import type { NextSteps } from './next-step.ts'

export const syncSteps: NextSteps = {
  LOCK_TIMEOUT: 'then deploy again',
  NOT_MIGRATED: 'run migrate first, as a deployment does, then deploy again',
  OPTION_INVALID: 'correct the definitions and deploy again',
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
      const actors = actorsIn(definitions)
      const connection = await open({ isDirect: false })
      try {
        return await syncActors(connection, actors, settings)
      } finally {
        await connection.close()
      }
    },
  })
}
