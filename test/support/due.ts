import { type Instant, recurrenceOf } from '../../shared/schedules/recurrence/recurrence.ts'

/** A moment of UTC, as in `2026-03-29T01:00`. */
export const at = (iso: string) => Date.parse(`${iso}Z`)

/** A recurrence by its text and its zone, within bounds or without. */
export const recurring = (
  recurrence: string,
  timezone = 'UTC',
  bounds: { start?: string; end?: string } = {},
) =>
  recurrenceOf({
    recurrence,
    timezone,
    startAtMs: bounds.start === undefined ? null : at(bounds.start),
    endAtMs: bounds.end === undefined ? null : at(bounds.end),
  })

/** An instant as a reader writes it: to the second where it has one, and marked where it was shifted. */
export function written(instant: Instant | undefined): string {
  if (instant === undefined) return 'never'
  const iso = new Date(instant.atMs).toISOString()
  return iso.slice(0, iso.slice(17, 19) === '00' ? 16 : 19) + (instant.shifted ? ' shifted' : '')
}

/** The next instants after a moment, until none comes. */
export function nextOf(recurrence: ReturnType<typeof recurring>, after: string, count: number): string[] {
  const found: string[] = []
  let instant = recurrence.next(at(after))
  while (found.push(written(instant)) < count && instant !== undefined)
    instant = recurrence.next(instant.atMs)
  return found
}
