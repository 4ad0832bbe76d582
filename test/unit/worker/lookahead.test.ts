import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Lookahead, lookaheadMax } from '../../../shared/worker/lookahead.ts'

const measured = (claimMs: number, jobMs: readonly number[]) => {
  const lookahead = new Lookahead()
  lookahead.claimTook(claimMs)
  for (const ms of jobMs) lookahead.jobTook(ms)
  return lookahead
}

describe('how far a worker claims ahead', () => {
  it('is nothing before it has run a job', () => {
    expect(measured(2, []).size(1000)).toBe(0)
  })

  it('is what its handlers end in two claims', () => {
    expect(measured(2, [4]).size(10)).toBe(10)
    expect(measured(5, [1]).size(4)).toBe(40)
  })

  it('is nothing for jobs that take long beside a claim', () => {
    expect(measured(2, [1000]).size(8)).toBe(0)
  })

  it('never passes its bound, however fast the jobs are', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        (claimMs, jobMs) => {
          const size = measured(claimMs, [jobMs]).size(10_000)
          expect(size).toBeGreaterThanOrEqual(0)
          expect(size).toBeLessThanOrEqual(lookaheadMax)
        },
      ),
    )
  })

  it('believes a slow job at once and fast ones only by and by', () => {
    const fast = Array.from({ length: 50 }, () => 0.1)
    expect(measured(2, [...fast, 500]).size(10)).toBe(0)
    expect(measured(2, [500, ...fast]).size(10)).toBeLessThan(20)
    expect(measured(2, [500, ...fast, ...fast, ...fast]).size(10)).toBe(lookaheadMax)
  })
})
