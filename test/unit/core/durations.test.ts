import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { durationMs, formatDuration, parseDuration } from '../../../shared/core/durations.ts'

describe('a duration', () => {
  it.each([
    ['0', 0],
    ['250ms', 250],
    ['90s', 90_000],
    ['1.5m', 90_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['7d', 604_800_000],
  ])('%s is %d ms', (text, ms) => expect(parseDuration(text)).toBe(ms))

  it.each(['', '5', '00', '-1s', '5 m', '5M', '1w', 's', '1e3s', 'NaNs', '5s\n', '999999999999999d'])(
    '%j is none',
    text => expect(parseDuration(text)).toBeUndefined(),
  )

  it('reads back to what was written', () =>
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), ms => {
        expect(parseDuration(formatDuration(ms))).toBe(ms)
      }),
    ))

  it('is refused with the field that held it', () => {
    expect(() => durationMs('delay', '5')).toThrow(
      expect.objectContaining({
        code: 'OPTION_INVALID',
        field: 'delay',
        message: expect.stringContaining('"5"'),
      }),
    )
  })
})
