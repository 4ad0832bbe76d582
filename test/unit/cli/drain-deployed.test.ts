import { describe, expect, test } from 'vitest'
import { callSeconds, drainDeployed } from '../../../functions/cli/drain-deployed.ts'
import type { ManualEvent } from '../../../functions/runtime/event.ts'
import { sizeOf } from '../../../infra/function-sizes.ts'
import type { Sweep } from '../../../shared/sweeper/define.ts'
import type { RunResult } from '../../../shared/sweeper/result.ts'
import { promotion, sweeps } from '../../../shared/sweeps/index.ts'

const asked: ManualEvent = { trigger: 'manual', requestedBy: 'ada', reason: 'an outage' }
const result: RunResult = {
  function: 'promotion',
  schema: 'taskq',
  trigger: 'manual',
  outcome: 'bounded',
  pulses: 1,
  batches: 2,
  rows: 200,
  batchSize: 100,
  batchSizeConfigured: 100,
  degraded: false,
  remaining: 100,
  durationMs: 40,
  longestBatchMs: 20,
}
const contended: Partial<RunResult> = { outcome: 'contended', batches: 0, rows: 0 }

interface Given {
  readonly asked?: Partial<ManualEvent>
  readonly sweep?: Partial<Sweep>
  /** What each call takes on the measuring clock. */
  readonly callMs?: number
  /** The signal comes during this call. */
  readonly stopIn?: number
}

/** Drains a function that answers so, and goes on answering as it did last. */
async function drainOf(answers: readonly Partial<RunResult>[], given: Given = {}) {
  const stop = new AbortController()
  const events: ManualEvent[] = []
  const told: number[] = []
  let now = 0
  let slept = 0
  const done = await drainDeployed(
    { ...promotion, ...given.sweep },
    { ...asked, ...given.asked },
    {
      invoke: async event => {
        events.push(event)
        now += given.callMs ?? 0
        if (events.length === given.stopIn) stop.abort()
        return { ...result, ...(answers[events.length - 1] ?? answers.at(-1)) }
      },
      onCall: ({ rows }) => told.push(rows),
      nowMs: () => now,
      sleep: async () => {
        slept += 1
      },
      signal: stop.signal,
    },
  )
  return { done, events, told, slept }
}

describe('calls follow each other', () => {
  test('until nothing is left, and what they did is added up', async () => {
    const first = {
      byDisposition: { repended: 2, crashed: 1 },
      byActor: { mail: { repended: 2 }, web: { crashed: 1 } },
      quarantined: ['a'],
      batchesAborted: 1,
      longestBatchMs: 30,
    }
    const second = {
      byDisposition: { repended: 1 },
      byActor: { mail: { repended: 1 } },
      quarantined: ['a', 'b'],
    }
    const last: Partial<RunResult> = { outcome: 'drained', batches: 1, rows: 0, remaining: 0, degraded: true }
    const { done, told, slept } = await drainOf([first, second, last])
    expect(done).toEqual({
      ...result,
      outcome: 'drained',
      calls: 3,
      pulses: 3,
      batches: 5,
      rows: 400,
      byDisposition: { repended: 3, crashed: 1 },
      byActor: { mail: { repended: 3 }, web: { crashed: 1 } },
      quarantined: ['a', 'b'],
      batchesAborted: 1,
      degraded: true,
      remaining: 0,
      durationMs: 120,
      longestBatchMs: 30,
    })
    expect([told, slept]).toEqual([[200, 400], 0])
  })

  test.each(['out_of_time', 'handed_over', 'stopped'] as const)('after a run that was %s', async outcome => {
    const { done } = await drainOf([{ outcome }, { outcome: 'drained' }])
    expect(done).toMatchObject({ outcome: 'drained', calls: 2 })
  })

  test('after a wait where another run has the lock, and the count begins anew when one worked', async () => {
    const four = Array.from({ length: 4 }, () => contended)
    const { done, slept } = await drainOf([...four, {}, ...four, { outcome: 'drained' }])
    expect(done).toMatchObject({ outcome: 'drained', calls: 10, rows: 400 })
    expect(slept).toBe(8)
  })

  test('and only the first resets the breaker', async () => {
    const { events } = await drainOf([{}, {}, { outcome: 'drained' }], { asked: { resetBreaker: true } })
    expect(events.map(event => event.resetBreaker)).toEqual([true, undefined, undefined])
  })
})

describe('no further call is made', () => {
  test.each(['drained', 'disabled', 'aborted'] as const)('after %s', async outcome => {
    expect((await drainOf([{ outcome }])).done).toMatchObject({ outcome, calls: 1 })
  })

  test.each([
    ['contended', contended],
    ['out_of_time', { outcome: 'out_of_time', batches: 0 }],
  ] as const)('after five in a row that did nothing: %s', async (outcome, answer) => {
    expect((await drainOf([{}, answer])).done).toMatchObject({ outcome, calls: 6 })
  })

  test('to a function that takes one batch a run', async () => {
    const { done } = await drainOf([{}], { sweep: { drains: false } })
    expect(done).toMatchObject({ outcome: 'bounded', calls: 1 })
  })

  test('after the signal: the call under way ends first', async () => {
    expect((await drainOf([{}], { stopIn: 2 })).done).toMatchObject({
      outcome: 'stopped',
      calls: 2,
      rows: 400,
    })
    expect((await drainOf([{ outcome: 'drained' }], { stopIn: 1 })).done).toMatchObject({
      outcome: 'drained',
    })
  })

  test('after the time that all calls together were given', async () => {
    const { done, events } = await drainOf([{}], { asked: { maxSeconds: 100 }, callMs: 40_000 })
    expect(done).toMatchObject({ outcome: 'out_of_time', calls: 3 })
    expect(events.map(event => event.maxSeconds)).toEqual([callSeconds, callSeconds, 20])
  })
})

test.each(sweeps)('a call of $purpose leaves its function time to end by itself', sweep => {
  expect(callSeconds + 15).toBeLessThanOrEqual(sizeOf(sweep).timeout.toSeconds())
})
