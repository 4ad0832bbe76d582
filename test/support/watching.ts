import type { Settings } from '../../shared/core/read-settings.ts'
import type { Status } from '../../shared/core/status.ts'
import { expectedOf } from '../../shared/sweeper/scheduled.ts'
import { readStatus } from '../../shared/sweeper/status/read-status.ts'
import { type VitalSigns, vitalSigns, type WatchPorts, watch } from '../../shared/sweeper/vital-signs.ts'
import { routines } from '../../shared/sweeps/index.ts'
import type { TestDatabase } from './database.ts'
import type { JobColumns } from './jobs.ts'
import { settingsWith } from './sweeping.ts'

/** Reads the vital signs by hand, as `taskq run vital_signs` does. */
export async function watchOnce(
  database: TestDatabase,
  { settings: changed = {}, ...ports }: Partial<WatchPorts> & { settings?: Partial<Settings> } = {},
): Promise<VitalSigns> {
  const settings = settingsWith(changed)
  const request = { trigger: 'manual', settings, expected: expectedOf(routines, settings) } as const
  const given = {
    connect: () => database.connect(),
    nowMs: () => performance.now(),
    remainingMs: () => 600_000,
    ...ports,
  }
  return watch(vitalSigns, request, given)
}

/** Reads the status, as `taskq status` does. */
export async function statusOnce(
  database: TestDatabase,
  changed: Partial<Settings> = {},
  connect: WatchPorts['connect'] = () => database.connect(),
): Promise<Status> {
  const settings = settingsWith(changed)
  return readStatus({ settings, expected: expectedOf(routines, settings), connect })
}

/** SQL for the instant so long ago, such as `20 minutes`. */
export const ago = (interval: string) => `statement_timestamp() - interval '${interval}'`

/** A job that has been due for so long and was never claimed. */
export function unclaimedJob(interval: string, columns: JobColumns = {}): JobColumns {
  return { status: `'pending'`, scheduled_at: ago(interval), first_due_at: ago(interval), ...columns }
}

/** A job that was claimed before, and is due again for so long. */
export function retriedJob(interval: string, columns: JobColumns = {}): JobColumns {
  return { ...unclaimedJob(interval), attempt: '1', claim_epoch: '1', ...columns }
}
