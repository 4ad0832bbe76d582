import fc from 'fast-check'
import { afterEach, expect, it, vi } from 'vitest'
import { dueInstants } from '../../support/cron-oracle.ts'
import { everies, generatedCrons, isWithinMinutes, writtenCrons } from '../../support/recurrences.ts'
import { seed } from '../../support/seed.ts'
import { dayMs, hourMs, readWallClock } from '../../support/wall-clock.ts'

/** The database's instant, within the hour that New York repeats: the host's clock is right or a day off. */
const asOfMs = Date.parse('2026-11-01T06:20:00Z')
const zone = 'America/New_York'
const [fromMs, untilMs] = [asOfMs - 3 * dayMs, asOfMs + 3 * dayMs]
const clock = readWallClock(zone, fromMs, untilMs)

const definitions = fc.sample(fc.oneof(generatedCrons, everies), { seed, numRuns: 100 })
const recurrences = [...writtenCrons.map(({ recurrence }) => recurrence), ...definitions].filter(
  recurrence => !isWithinMinutes(recurrence),
)

afterEach(() => {
  vi.useRealTimers()
})

it.each([
  ['right', 0],
  ['a day behind', -dayMs],
  ['a day ahead', dayMs],
])('plans the same while the clock of the host is %s', async (_, offMs) => {
  vi.useFakeTimers({ toFake: ['Date'], now: asOfMs + offMs })
  // Loaded anew under each clock, so that nothing is left of what was made under another.
  vi.resetModules()
  const { plan } = await import('../../../shared/schedules/planner.ts')
  const { recurrenceOf } = await import('../../../shared/schedules/recurrence/recurrence.ts')

  for (const recurrence of recurrences) {
    const bounds = { startAtMs: null, endAtMs: untilMs }
    const found = recurrenceOf({ recurrence, timezone: zone, ...bounds })
    const due = dueInstants({ recurrence, ...bounds }, clock, fromMs, untilMs)
    const passed = due.filter(({ atMs }) => atMs <= asOfMs)
    const [newest] = passed.slice(-1)
    const next = due[passed.length]
    expect(found.next(asOfMs), recurrence).toEqual(next)
    expect(found.newest(fromMs, asOfMs), recurrence).toEqual(newest)
    expect(found.count(fromMs, asOfMs), recurrence).toBe(passed.length)
    const planned = plan(
      { recurrence: found, cursorMs: fromMs, missed: 'latest' },
      { asOfMs, latenessToleranceMs: hourMs, catchUpMax: 10 },
    )
    expect(planned.fires, recurrence).toEqual(passed.slice(-1))
    expect(planned.cursorToMs, recurrence).toBe(next?.atMs ?? null)
  }
})
