import { WrongTargetError } from '../core/errors.ts'
import type { BatchOpened, BatchOpening, Connection } from '../sql/connection.ts'
import { codeOf } from '../sql/failures.ts'

/** What opening a batch needs to know. */
export interface BatchPlan {
  readonly opening: BatchOpening
  readonly sleep: (ms: number) => Promise<void>
}

/** How long a run that has worked asks for a lock that another holds, before it leaves the rest to it. */
const handOverMs = 500
export const askAgainMs = 20

/**
 * Opens a batch; answers whether its lock was free. A run that has worked asks again for a while, since the
 * lock belongs to a batch alone. Throws `WRONG_TARGET` where the installation is another one.
 */
export async function open(connection: Connection, plan: BatchPlan, hasWorked: boolean): Promise<boolean> {
  for (let waitedMs = 0; ; waitedMs += askAgainMs) {
    const opened = await connection.openBatch(plan.opening)
    if (opened === 'locked') return true
    await connection.rollback()
    refuse(opened, connection)
    if (!hasWorked || waitedMs >= handOverMs) return false
    await plan.sleep(askAgainMs)
  }
}

/** The one failure of an opening that a healthy system knows: a migration holds the installation's table. */
const lockNotAvailable = '55P03'

/**
 * Commits and opens the next batch in one message; answers whether it is open. Where only the opening had to
 * give a lock up, the commit before it stands: the batch counts, and the next one is opened by itself. Any
 * other failure may be the commit's own, and nothing counts that is not known to be committed.
 */
export async function chain(connection: Connection, plan: BatchPlan): Promise<BatchOpened | undefined> {
  try {
    const opened = await connection.chainBatch(plan.opening)
    if (opened !== 'contended') return opened
  } catch (error) {
    if (codeOf(error) !== lockNotAvailable) throw error
  }
  await connection.rollback()
  return undefined
}

/** Throws where a batch was opened on another installation. */
export function refuse(opened: BatchOpened | undefined, connection: Connection): void {
  if (opened === 'wrong_target') throw new WrongTargetError(connection.schema)
}
