import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stopTimes, stopTimesWithin } from '../../../shared/worker/soft-stop.ts'
import { settingsWith } from '../../support/sweeping.ts'

const settings = settingsWith({ softStopTimeout: 20_000, cleanupGrace: 10_000 })

describe('the waits of a soft stop', () => {
  it('are as set where the time allows them', () => {
    expect(stopTimes(settings)).toEqual({ softStopMs: 20_000, cleanupMs: 10_000, settleMs: 5000 })
    expect(stopTimesWithin(900_000, settings)).toEqual(stopTimes(settings))
  })

  it('never take more than half of the time that is left, nor less than none', () => {
    fc.assert(
      fc.property(fc.double({ min: -1e5, max: 1e6, noNaN: true }), remainingMs => {
        const { softStopMs, cleanupMs, settleMs } = stopTimesWithin(remainingMs, settings)
        expect(Math.min(softStopMs, cleanupMs, settleMs)).toBeGreaterThanOrEqual(0)
        expect(softStopMs + cleanupMs + settleMs).toBeLessThanOrEqual(Math.max(0, remainingMs) / 2 + 1e-6)
      }),
    )
  })
})
