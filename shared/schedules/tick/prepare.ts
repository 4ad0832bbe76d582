import type { Connection } from '../../sql/connection.ts'
import { recurrenceOf } from '../recurrence/recurrence.ts'
import { readZonesAhead } from './due-schedules.ts'
import { fire } from './fire.ts'

/**
 * What a tick would otherwise do while schedules are due already: look up zones, hundreds of which take a
 * tenth of a second, and have the server read its catalogs for the statement that fires, which on a fresh
 * connection takes half as long. Nothing is fired, and nothing that fails here is told: the tick will tell.
 */
export async function prepare(connection: Connection): Promise<void> {
  try {
    for (const { timezone, nowMs } of await connection.run(readZonesAhead, {})) lookUp(timezone, nowMs)
    await connection.run(fire, { planned: [] })
  } catch {
    // A connection that is gone is replaced by whoever needs it.
  }
}

/** Leaves a zone's segments of this year where the next plan finds them. */
function lookUp(timezone: string, nowMs: number): void {
  try {
    recurrenceOf({ recurrence: '0 0 * * *', timezone, startAtMs: null, endAtMs: null }).next(nowMs)
  } catch {
    // What has this zone will be struck for it by name.
  }
}
