import { describe, expect, it } from 'vitest'
import {
  type Answers,
  type EarlierTerms,
  merged,
  nominalMsOf,
  partsOf,
  smearPartMs,
} from '../../../shared/schedules/firing.ts'
import { planParts } from '../../../shared/schedules/plan-parts.ts'

const minuteMs = 60_000
const editMs = Date.parse('2026-03-02T12:00:20Z')
/** One whose part of ten minutes is between two and eight of them. */
const id = Array.from({ length: 100 }, (_, n) => `schedule ${n}`).find(each => {
  const part = smearPartMs(each, 10 * minuteMs)
  return part > 2 * minuteMs && part < 8 * minuteMs
}) as string

const owed: Answers = { shape: 'deliverable', missed: 'all', onOpen: 'add' }
const newest: Answers = { shape: 'intent', missed: 'latest', onOpen: 'supersede' }
const minutely = { recurrence: '* * * * *', timezone: 'UTC', startAtMs: null, endAtMs: null }

function parts(before: { smearMs: number } & Answers, after: { smearMs: number } & Answers) {
  const earlier: EarlierTerms = { ...minutely, ...before, fromMs: 0, untilMs: editMs }
  return partsOf(id, { ...minutely, ...after, revisedAtMs: editMs }, [earlier])
}

/** A tick every so often over an hour around the edit; each fired instant, by what it is for. */
function fired(through: ReturnType<typeof parts>, everyMs: number): number[] {
  const fromMs = editMs - 30 * minuteMs
  const nominal: number[] = []
  let cursorMs = merged(through).next(fromMs)?.atMs ?? 0
  for (let asOfMs = fromMs; asOfMs < editMs + 30 * minuteMs; asOfMs += everyMs) {
    while (cursorMs <= asOfMs) {
      const planned = planParts(through, cursorMs, { asOfMs, latenessToleranceMs: minuteMs, catchUpMax: 3 })
      nominal.push(...(planned?.fires ?? []).map(nominalMsOf))
      expect(planned?.cursorToMs ?? 0).toBeGreaterThan(cursorMs)
      cursorMs = planned?.cursorToMs ?? Number.POSITIVE_INFINITY
    }
  }
  return nominal
}

const smear = { smearMs: 10 * minuteMs }
const none = { smearMs: 0 }

describe('a schedule of every minute whose smear is edited', () => {
  it.each([
    ['away', smear, none],
    ['into it', none, smear],
    ['to itself', smear, smear],
  ])('%s fires each minute once, and none is lost on the way', (_, before, after) => {
    for (const everyMs of [minuteMs / 2, 7 * minuteMs]) {
      const nominal = fired(parts({ ...before, ...owed }, { ...after, ...owed }), everyMs)
      const sorted = nominal.toSorted((one, other) => one - other)
      expect(new Set(nominal).size).toBe(nominal.length)
      const first = sorted[0] ?? 0
      expect(sorted).toEqual(sorted.map((_, n) => first + n * minuteMs))
      expect(sorted.length).toBeGreaterThan(40)
    }
  })
})

it('decides what fell due before an edit by the answers of then, and the rest by those of now', () => {
  const through = parts({ ...none, ...owed }, { ...none, ...newest })
  const bounds = { asOfMs: editMs + 10 * minuteMs, latenessToleranceMs: 0, catchUpMax: 100 }
  const first = planParts(through, editMs - 4.5 * minuteMs, bounds)
  expect(first).toMatchObject({ part: owed, missed: 0 })
  expect(first?.fires).toHaveLength(5)
  const second = planParts(through, first?.cursorToMs ?? 0, bounds)
  expect(second).toMatchObject({ part: newest, missed: 9 })
  expect(second?.fires).toHaveLength(1)
})

it('takes for late what is late by the clock, not by where its part ends', () => {
  const skips: Answers = { ...newest, missed: 'skip' }
  const through = parts({ ...none, ...skips }, { ...none, ...skips })
  const bounds = { asOfMs: editMs + 10 * minuteMs, latenessToleranceMs: minuteMs, catchUpMax: 100 }
  expect(planParts(through, editMs - 4.5 * minuteMs, bounds)).toMatchObject({ fires: [], missed: 5 })
})
