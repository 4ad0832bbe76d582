import { describe, expect } from 'vitest'
import { sweepOnce, watched } from '../sweeping.ts'
import { insertDue, law, lockFirst, type Subject, tens } from './subject.ts'
import { expectTraces, watchRows } from './trace.ts'

/** When a function stops that goes on until a window is not full. */
export function drainLaws(subject: Subject): void {
  const { sweep } = subject
  const ofTen = tens(subject)

  describe('drains', () => {
    law('stops at its batch bound, and says what remains', async database => {
      await insertDue(database, subject, 45)
      const result = await sweepOnce(database, sweep, { ...ofTen, request: { maxBatches: 2 } })
      expect(result).toMatchObject({ outcome: 'bounded', batches: 2, rows: 20, remaining: 25 })
    })

    law('stops when the time is spent, says so, and keeps what it did', async database => {
      await watchRows(database, subject)
      await insertDue(database, subject, 45)
      let asked = 0
      const ports = { remainingMs: () => (++asked > 3 ? 1000 : 600_000) }
      const result = await sweepOnce(database, sweep, { ...ofTen, ports })
      expect(result).toMatchObject({ outcome: 'out_of_time', rows: 30, remaining: 15 })
      await expectTraces(database, subject)
      expect(await sweepOnce(database, sweep, ofTen)).toMatchObject({ outcome: 'drained', rows: 15 })
    })

    law('stops after the running batch when it is told to', async database => {
      await insertDue(database, subject, 45)
      const stop = new AbortController()
      let statements = 0
      const onStep = (step: string) => {
        if (step === 'run' && ++statements === 3) stop.abort()
      }
      const connect = async () => watched(await database.connect(), onStep)
      const result = await sweepOnce(database, sweep, { ...ofTen, ports: { connect, signal: stop.signal } })
      expect(result).toMatchObject({ outcome: 'stopped', rows: 20, remaining: 25 })
    })

    law('takes in its last window what was locked in its first', async database => {
      await insertDue(database, subject, 25)
      const unlock = await lockFirst(database, subject, 3)
      let statements = 0
      const onStep = async (step: string) => {
        if (step === 'run' && ++statements === 3) await unlock()
      }
      const connect = async () => watched(await database.connect(), onStep)
      expect(await sweepOnce(database, sweep, { ...ofTen, ports: { connect } })).toMatchObject({ rows: 25 })
    })
  })
}
