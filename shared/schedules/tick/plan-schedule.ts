import { storableError, storableText } from '../../core/text.ts'
import { nominalMsOf, partsOf } from '../firing.ts'
import { planParts } from '../plan-parts.ts'
import type { PlanBounds } from '../planner.ts'
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
  const parts = partsOf(due.id, due, due.earlier ?? [])
  const planned = planParts(parts, due.cursorMs, { ...bounds, asOfMs: due.nowMs }) ?? over(due)
  const { shape, onOpen } = planned.part
  return {
    ...fenceOf(due),
    shape,
    onOpen,
    next: isoOrNull(planned.cursorToMs),
    missed: planned.missed,
    missedFrom: isoOrNull(planned.missedFromMs),
    missedTo: isoOrNull(planned.missedToMs),
    fires: planned.fires.map((instant, ordinal) => plannedInstant(instant, ordinal, newJobId())),
  }
}

/** No instant comes any more: the cursor ends. */
function over(part: DueSchedule) {
  return { fires: [], missed: 0, missedFromMs: null, missedToMs: null, cursorToMs: null, part }
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
  return { ...fenceOf(fence), kind, error: storableText(storableError(error).message, errorBytesMax) }
}
