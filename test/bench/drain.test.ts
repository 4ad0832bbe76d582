import { describe, expect, it } from 'vitest'
import { settingsWith } from '../support/sweeping.ts'
import { type Case, cases } from './cases.ts'
import { type Measured, measureBatches, measureDrain, measureUnbounded, median, print } from './measure.ts'

const roundsMax = 5

/**
 * Of a function that takes one batch a run, fewer are measured in a row: each walks over what those before it
 * left dead, which between two runs is cleaned away.
 */
const rowsOf = ({ sweep }: Case) => (sweep.drains ? 50_000 : 10_000)

/** A backlog in batches: one invocation, or of a function that does not drain its batches alone. */
function measure(measured: Case, batchSize: number): Promise<Measured> {
  const { sweep, arm, due } = measured
  const backlog = { arm, due, rows: rowsOf(measured) }
  if (!sweep.drains) return measureBatches(sweep, backlog, batchSize)
  return measureDrain(sweep, backlog, { [sweep.batchSize]: batchSize })
}

const told = ({ ms, longestBatchMs }: Measured) => `${ms.toFixed(0)} ms (longest ${longestBatchMs} ms)`

describe.each(cases)('$name', measured => {
  const { name, sweep, arm, due, live } = measured

  const usual = settingsWith()[sweep.batchSize]
  const rows = rowsOf(measured)

  it('takes its rows in batches at most twice as long as one statement', {
    timeout: 900_000,
  }, async () => {
    const rounds: Record<'whole' | 'asUsual' | 'at250', Measured>[] = []
    for (let round = 0; round < roundsMax; round++) {
      const whole = await measureUnbounded(sweep, { arm, due, rows })
      const asUsual = await measure(measured, usual)
      const at250 = await measure(measured, 250)
      rounds.push({ whole, asUsual, at250 })
      print(
        `${name} ${rows}: one statement ${whole.ms.toFixed(0)} ms, ` +
          `${usual} a batch ${told(asUsual)}, 250 a batch ${told(at250)}`,
      )
    }
    // The best of each: whatever else the machine does only adds to a time.
    const best = (which: 'whole' | 'asUsual' | 'at250') => Math.min(...rounds.map(round => round[which].ms))
    const [asUsual, at250] = [best('asUsual') / best('whole'), best('at250') / best('whole')]
    const longest = median(rounds.map(round => round.asUsual.longestBatchMs))
    print(
      `${name}: ${((best('asUsual') * 1000) / rows).toFixed(1)} µs a row, ` +
        `ratio ${asUsual.toFixed(2)} at ${usual} and ${at250.toFixed(2)} at 250, longest batch ${longest} ms`,
    )
    expect.soft(asUsual).toBeLessThanOrEqual(2)
    // A larger batch has less around it; of one that is as large already there is nothing to be had.
    if (usual < 250) expect.soft(at250).toBeLessThanOrEqual(1.6)
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
