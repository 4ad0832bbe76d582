import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Recurrence } from '../../../shared/schedules/recurrence/recurrence.ts'
import { zoneOf } from '../../../shared/schedules/recurrence/zone.ts'
import { at, recurring } from '../../support/due.ts'

const aroundMs = 14 * 3_600_000
const zones = Intl.supportedValuesOf('timeZone')
const patterns = ['30 2 * * *', '0 0 * * *', '*/30 * * * *', '*/20 0-3 * * *', '15 0,23 * * 0', '0 */5 L * *']

/** The moments of ten years at which a zone changes its clock, and every New Year. */
function seamsOf(zone: string): number[] {
  const seams: number[] = []
  for (let atMs = at('2016-01-01T00:00'); atMs < at('2026-01-01T00:00'); ) {
    seams.push(atMs)
    atMs = zoneOf(zone).segmentAt(atMs).untilMs
  }
  return seams
}

/** Goes from one instant to the next through a span, and back to each; the count of them is what it found. */
function walk(recurrence: Recurrence, fromMs: number, untilMs: number): void {
  let count = 0
  let atMs = fromMs
  for (;;) {
    const next = recurrence.next(atMs)
    if (next === undefined) expect.fail(`nothing comes after ${atMs}`)
    // Plain comparisons: half a million assertions would take a minute.
    if (next.atMs <= atMs) expect.fail(`${next.atMs} is not after ${atMs}`)
    if (next.atMs > untilMs) break
    const newest = recurrence.newest(fromMs, next.atMs)
    if (!isDeepStrictEqual(newest, next)) expect(newest).toEqual(next)
    count += 1
    atMs = next.atMs
  }
  expect(recurrence.count(fromMs + 1, untilMs)).toBe(count)
}

describe('over ten years of changed clocks', () => {
  it.each(zones)('every recurrence goes on and agrees with itself: %s', zone => {
    const seams = seamsOf(zone)
    for (const pattern of patterns) {
      const recurrence = recurring(pattern, zone)
      for (const seamMs of seams) walk(recurrence, seamMs - aroundMs, seamMs + aroundMs)
    }
  })
})
