import { migrate } from '../../shared/db/migrate.ts'
import { deployStep } from './deploy-step.ts'
import type { NextSteps } from './next-step.ts'

export const migrateSteps: NextSteps = {
  MIGRATION_FAILED: 'then deploy again',
  MIGRATION_LOCKED: 'then deploy again',
}

/**
 * The Lambda that a deployment invokes before all others: brings the schema to the newest version, past the
 * pooler, and settles which installation it is.
 */
export function migrateHandler(purposes: readonly string[]) {
  return deployStep({
    name: 'migrate',
    nextSteps: migrateSteps,
    work: async ({ installationId, environment, deploymentId, rolePrefix }, open) => {
      const connection = await open({ isDirect: true })
      try {
        return await migrate(connection, {
          installation: { installationId, environment, deploymentId, rolePrefix, purposes },
          openSecond: () => open({ isDirect: true }),
        })
      } finally {
        await connection.close()
      }
    },
  })
}
