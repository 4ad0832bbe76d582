import { describe, expect, it } from 'vitest'
import { Waiting } from '../../../shared/worker/waiting.ts'

/** A worker that polls every second; `dueMs` until the next job, `repairMs` until it may repair. */
function waiting({ pollMs = 1000, dueMs = null as number | null, repairMs = 0 } = {}) {
  return new Waiting(pollMs, { untilNextDue: async () => dueMs, untilNextRepair: () => repairMs })
}

const inTurn = async (each: Waiting, found: 'empty' | 'paused' | 'contended', rounds: number) => {
  const waits: number[] = []
  for (let round = 0; round < rounds; round++) waits.push(await each.nextMs(found, 0))
  return waits
}

describe('how long a worker waits', () => {
  it('grows from the poll interval to five seconds while idle, and begins anew with work', async () => {
    const idle = waiting()
    expect(await inTurn(idle, 'empty', 5)).toEqual([1000, 2000, 4000, 5000, 5000])
    idle.reset()
    expect(await inTurn(idle, 'empty', 1)).toEqual([1000])
  })

  it('is one probe an interval where all is paused, not a hot loop (C24)', async () => {
    expect(await inTurn(waiting(), 'paused', 3)).toEqual([1000, 2000, 4000])
  })

  it('is never shorter than a poll interval of more than five seconds', async () => {
    expect(await inTurn(waiting({ pollMs: 30_000 }), 'empty', 2)).toEqual([30_000, 30_000])
  })

  it('ends when the next job is due, but not before a repair may promote it', async () => {
    expect(await inTurn(waiting({ dueMs: 120.4 }), 'empty', 1)).toEqual([121])
    expect(await inTurn(waiting({ dueMs: 120, repairMs: 700 }), 'empty', 1)).toEqual([700])
    expect(await inTurn(waiting({ dueMs: -50 }), 'empty', 1)).toEqual([0])
    expect(await inTurn(waiting({ dueMs: 60_000 }), 'empty', 1)).toEqual([1000])
  })

  it('is short where peers hold what waits, growing up to the poll interval', async () => {
    expect(await inTurn(waiting(), 'contended', 8)).toEqual([20, 40, 80, 160, 320, 640, 1000, 1000])
  })

  it('grows with failures, whatever else, up to five seconds (C25)', async () => {
    const each = waiting({ dueMs: 1 })
    expect(await each.nextMs(undefined, 1)).toBe(1000)
    expect(await each.nextMs(undefined, 3)).toBe(4000)
    expect(await each.nextMs(undefined, 100)).toBe(5000)
  })
})
