import { describe, expect, it } from 'vitest'
import { expiredLocks } from '../../shared/sweeps/expired_locks.ts'
import { promotion } from '../../shared/sweeps/promotion.ts'
import { lockedJob, scheduledJob } from '../support/jobs.ts'
import { type Backlog, type Measured, measureDrain, measureUnbounded, median, print } from './measure.ts'

const cases = [
  {
    sweep: expiredLocks,
    due: lockedJob({ expired: true, heartbeatMissed: true }),
    live: { live: lockedJob(), liveRows: 100_000 },
  },
  {
    sweep: promotion,
    due: scheduledJob({ due: true }),
    live: { live: scheduledJob(), liveRows: 100_000 },
  },
]
const roundsMax = 5

describe.each(cases)('$sweep.purpose', ({ sweep, due, live }) => {
  it('drains 50,000 rows in batches at most twice as long as one statement', {
    timeout: 900_000,
  }, async () => {
    const backlog: Backlog = { due, rows: 50_000 }
    const rounds: Record<'whole' | 'at100' | 'at250', Measured>[] = []
    for (let round = 0; round < roundsMax; round++) {
      const whole = await measureUnbounded(sweep, backlog)
      const at100 = await measureDrain(sweep, backlog)
      const at250 = await measureDrain(sweep, backlog, { eventWriterBatchSize: 250 })
      rounds.push({ whole, at100, at250 })
      print(
        `${sweep.purpose} 50,000: one statement ${whole.ms.toFixed(0)} ms, ` +
          `100 a batch ${at100.ms.toFixed(0)} ms (longest ${at100.longestBatchMs} ms), ` +
          `250 a batch ${at250.ms.toFixed(0)} ms (longest ${at250.longestBatchMs} ms)`,
      )
    }
    // The best of each: whatever else the machine does only adds to a time.
    const best = (which: 'whole' | 'at100' | 'at250') => Math.min(...rounds.map(round => round[which].ms))
    const [at100, at250] = [best('at100') / best('whole'), best('at250') / best('whole')]
    const longest = median(rounds.map(round => round.at100.longestBatchMs))
    print(
      `${sweep.purpose} ratio: ${at100.toFixed(2)} at 100, ${at250.toFixed(2)} at 250; longest ${longest} ms`,
    )
    expect.soft(at100).toBeLessThanOrEqual(2)
    expect.soft(at250).toBeLessThanOrEqual(1.6)
    expect.soft(longest).toBeLessThan(50)
  })

  it.each([false, true])(
    'costs the same a row at 10,000 and at 1,000,000 (old snapshot: %s)',
    {
      timeout: 3_600_000,
    },
    async oldSnapshot => {
      const costs: number[] = []
      for (const rows of [10_000, 100_000, 1_000_000]) {
        const { usPerRow, ms, longestBatchMs } = await measureDrain(sweep, {
          due,
          rows,
          ...live,
          oldSnapshot,
        })
        costs.push(usPerRow)
        print(
          `${sweep.purpose} ${rows} beside 100,000 live${oldSnapshot ? ', old snapshot' : ''}: ` +
            `${usPerRow.toFixed(1)} µs a row, ${ms.toFixed(0)} ms, longest ${longestBatchMs} ms`,
        )
      }
      expect((costs.at(-1) ?? Number.NaN) / (costs[0] ?? Number.NaN)).toBeLessThanOrEqual(1.3)
    },
  )
})
