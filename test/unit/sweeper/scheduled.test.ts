import { describe, expect, test } from 'vitest'
import { expectedOf } from '../../../shared/sweeper/scheduled.ts'
import { settingsWith } from '../../support/sweeping.ts'

const one = { purpose: 'one', title: 'Does it', why: 'It must.', cadenceMinutes: 1, offAtZero: null }

describe('what is expected of a function', () => {
  test.each([
    [1, 180],
    [10, 1800],
    [1440, 30 * 3600],
  ])('at every %i minutes is a success every %i seconds', (cadenceMinutes, staleAfterSeconds) => {
    const [expected] = expectedOf([{ ...one, cadenceMinutes }], settingsWith())
    expect(expected).toEqual({ purpose: 'one', cadenceMinutes, staleAfterSeconds, isOff: false })
  })

  test.each([
    ['off where it is named among those that are', { functionsOff: ['one'] }, true],
    ['off where its setting is zero', { keyedRowReclaimPeriod: 0 }, true],
    ['on where another is named', { functionsOff: ['other'] }, false],
  ])('is that it is %s', (_, settings, isOff) => {
    const zeroable = { ...one, offAtZero: 'keyedRowReclaimPeriod' } as const
    expect(expectedOf([zeroable], settingsWith(settings))).toMatchObject([{ isOff }])
  })
})
