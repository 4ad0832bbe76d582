import { describe, expect, it } from 'vitest'
import { type Case, cases } from './cases.ts'
import { type Measured, measureBatches, measureDrain, measureUnbounded, median, print } from './measure.ts'

const roundsMax = 5

/** A backlog in batches: one invocation, or of a function that does not drain its batches alone. */
function measure({ sweep, arm, due }: Case, batchSize: number): Promise<Measured> {
  const backlog = { arm, due, rows: 50_000 }
  if (!sweep.drains) return measureBatches(sweep, backlog, batchSize)
  return measureDrain(sweep, backlog, { [sweep.batchSize]: batchSize })
}

const told = ({ ms, longestBatchMs }: Measured) => `${ms.toFixed(0)} ms (longest ${longestBatchMs} ms)`

describe.each(cases)('$name', measured => {
  const { name, sweep, arm, due, live } = measured

  it('takes 50,000 rows in batches at most twice as long as one statement', {
    timeout: 900_000,
  }, async () => {
    const rounds: Record<'whole' | 'at100' | 'at250', Measured>[] = []
    for (let round = 0; round < roundsMax; round++) {
      const whole = await measureUnbounded(sweep, { arm, due, rows: 50_000 })
      const at100 = await measure(measured, 100)
      const at250 = await measure(measured, 250)
      rounds.push({ whole, at100, at250 })
      print(
        `${name} 50,000: one statement ${whole.ms.toFixed(0)} ms, ` +
          `100 a batch ${told(at100)}, 250 a batch ${told(at250)}`,
      )
    }
    // The best of each: whatever else the machine does only adds to a time.
    const best = (which: 'whole' | 'at100' | 'at250') => Math.min(...rounds.map(round => round[which].ms))
    const [at100, at250] = [best('at100') / best('whole'), best('at250') / best('whole')]
    const longest = median(rounds.map(round => round.at100.longestBatchMs))
    print(
      `${name}: ${(best('at100') / 50).toFixed(1)} µs a row, ratio ${at100.toFixed(2)} at 100 and ` +
        `${at250.toFixed(2)} at 250, longest batch ${longest} ms`,
    )
    expect.soft(at100).toBeLessThanOrEqual(2)
    expect.soft(at250).toBeLessThanOrEqual(1.6)
    expect.soft(longest).toBeLessThan(50)
  })

  if (live === undefined) return

  it.each([false, true])(
    'costs the same a row at 10,000 and at 1,000,000 (old snapshot: %s)',
    {
      timeout: 3_600_000,
    },
    async oldSnapshot => {
      const costs: number[] = []
      for (const rows of [10_000, 100_000, 1_000_000]) {
        const backlog = { arm, due, rows, live, liveRows: 100_000, oldSnapshot }
        const { usPerRow, ms, longestBatchMs } = await measureDrain(sweep, backlog)
        costs.push(usPerRow)
        print(
          `${name} ${rows} beside 100,000 live${oldSnapshot ? ', old snapshot' : ''}: ` +
            `${usPerRow.toFixed(1)} µs a row, ${ms.toFixed(0)} ms, longest ${longestBatchMs} ms`,
        )
      }
      expect((costs.at(-1) ?? Number.NaN) / (costs[0] ?? Number.NaN)).toBeLessThanOrEqual(1.3)
    },
  )
})
