import { storableText } from '../../core/text.ts'
import { firingThroughEdits, nominalMsOf } from '../firing.ts'
import { type PlanBounds, plan } from '../planner.ts'
import type { Instant } from '../recurrence/recurrence.ts'
import type { DueSchedule } from './due-schedules.ts'
import type { PlannedFire, PlannedInstant } from './fire.ts'
import type { Trouble } from './trouble.ts'

const iso = (ms: number) => new Date(ms).toISOString()
const isoOrNull = (ms: number | null) => (ms === null ? null : iso(ms))

/** What a tick makes of one due schedule, by its clock and its calendar alone. */
export function planSchedule(
  due: DueSchedule,
  bounds: Omit<PlanBounds, 'asOfMs'>,
  newJobId: () => string,
): PlannedFire {
  const recurrence = firingThroughEdits(due.id, due, due.earlier ?? [])
  const owing = { recurrence, cursorMs: due.cursorMs, missed: due.missed }
  const planned = plan(owing, { ...bounds, asOfMs: Math.floor(due.nowMs) })
  return {
    ...fenceOf(due),
    next: isoOrNull(planned.cursorToMs),
    missed: planned.missed,
    missedFrom: isoOrNull(planned.missedFromMs),
    missedTo: isoOrNull(planned.missedToMs),
    fires: planned.fires.map((instant, ordinal) => plannedInstant(instant, ordinal, newJobId())),
  }
}

export function plannedInstant(instant: Instant, ordinal: number, job: string): PlannedInstant {
  const { atMs, shifted } = instant
  return { ordinal, job, due: iso(nominalMsOf(instant)), at: iso(atMs), shifted }
}

/** A row's fence: what is decided about it holds only while it stands as it was read. */
export function fenceOf({ id, revision, cursor }: Pick<DueSchedule, 'id' | 'revision' | 'cursor'>) {
  return { id, revision, cursor }
}

const errorBytesMax = 1024

/** What kept a schedule from firing, in a text that its row can hold. */
export function troubleOf(
  fence: Pick<DueSchedule, 'id' | 'revision' | 'cursor'>,
  kind: Trouble['kind'],
  error: unknown,
): Trouble {
  const message = error instanceof Error ? error.message : String(error)
  return { ...fenceOf(fence), kind, error: storableText(message, errorBytesMax) }
}
