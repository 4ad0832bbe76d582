import { describe, expect } from 'vitest'
import { run } from '../../../shared/sweeper/run.ts'
import { insertJobs, snapshot } from '../jobs.ts'
import { portsOn, settingsWith, sweepOnce, watched } from '../sweeping.ts'
import { insertDue, law, type Subject } from './subject.ts'
import { countMoves, expectTraces, watchMoves } from './trace.ts'

/** How much a function does at a time, and when it stops. */
export function boundLaws(subject: Subject): void {
  const { sweep } = subject
  const tens = { settings: { eventWriterBatchSize: 10 } }

  describe('bounds', () => {
    law('never changes more rows than its bound in one transaction', async database => {
      await watchMoves(database)
      await insertDue(database, subject, 45)
      const result = await sweepOnce(database, sweep, tens)
      expect(result).toMatchObject({ outcome: 'drained', rows: 45, batchSize: 10 })
      expect(await countMoves(database)).toMatchObject({ moves: 45, transactions: 5, largest: 10 })
    })

    law('sends the same number of messages whatever a batch holds', async database => {
      const messages = async (rows: number) => {
        await insertDue(database, subject, rows)
        const steps: string[] = []
        const connect = async () => watched(await database.connect(), step => void steps.push(step))
        await sweepOnce(database, sweep, { ports: { connect } })
        return steps
      }
      const few = await messages(3)
      expect(await messages(90)).toEqual(few)
      // State; opening, statement, commit; state; and what remains.
      const counting = ['openBatch', 'run', 'rollback']
      expect(few).toEqual(['run', 'openBatch', 'run', 'commit', 'run', ...counting, 'close'])
    })

    law('stops at its batch bound, and says what remains', async database => {
      await insertDue(database, subject, 45)
      const result = await sweepOnce(database, sweep, { ...tens, request: { maxBatches: 2 } })
      expect(result).toMatchObject({ outcome: 'bounded', batches: 2, rows: 20, remaining: 25 })
    })

    law('stops when the time is spent, says so, and keeps what it did', async database => {
      await watchMoves(database)
      await insertDue(database, subject, 45)
      let asked = 0
      const ports = { remainingMs: () => (++asked > 3 ? 1000 : 600_000) }
      const result = await sweepOnce(database, sweep, { ...tens, ports })
      expect(result).toMatchObject({ outcome: 'out_of_time', rows: 30, remaining: 15 })
      await expectTraces(database, subject)
      expect(await sweepOnce(database, sweep, tens)).toMatchObject({ outcome: 'drained', rows: 15 })
    })

    law('begins nothing that the time left cannot hold', async database => {
      await insertDue(database, subject, 5)
      const before = await snapshot(database)
      const result = await sweepOnce(database, sweep, { ports: { remainingMs: () => 5000 } })
      expect(result).toMatchObject({ outcome: 'out_of_time', batches: 0, rows: 0, remaining: 5 })
      expect(await snapshot(database)).toEqual(before)
    })

    law('stops after the running batch when it is told to', async database => {
      await insertDue(database, subject, 45)
      const stop = new AbortController()
      let statements = 0
      const onStep = (step: string) => {
        if (step === 'run' && ++statements === 3) stop.abort()
      }
      const connect = async () => watched(await database.connect(), onStep)
      const result = await sweepOnce(database, sweep, { ...tens, ports: { connect, signal: stop.signal } })
      expect(result).toMatchObject({ outcome: 'stopped', rows: 20, remaining: 25 })
    })

    law('goes on after a full window whose rows were taken away (B013)', async database => {
      await insertDue(database, subject, 35)
      // The first ten changes do not happen, as if a claimer had been faster: the window was full, though.
      await database.rows('create sequence taken')
      await database.rows(`create function take_away() returns trigger language plpgsql
          security definer as $$ begin
        if nextval('taken') <= 10 then return null; end if; return new; end $$`)
      await database.rows(`create trigger take_away before update on taskq.jobs for each row
        execute function take_away()`)
      const result = await sweepOnce(database, sweep, tens)
      expect(result).toMatchObject({ outcome: 'drained', rows: 35 })
    })

    law('an idle run is one empty window and one write, of its own row', async database => {
      for (const columns of subject.spared) await insertJobs(database, columns, 2)
      await sweepOnce(database, sweep)
      const connection = await database.connect()
      const steps: string[] = []
      const connect = async () => watched(connection, step => void steps.push(step))
      const before = await database.rows('select xmin::text, function from taskq.sweep_state order by 2')
      await run(sweep, { trigger: 'manual', settings: settingsWith() }, portsOn(database, { connect }))
      const after = await database.rows('select xmin::text, function from taskq.sweep_state order by 2')
      expect(steps).toEqual(['run', 'openBatch', 'run', 'commit', 'run', 'close'])
      expect(after.filter((row, place) => row['xmin'] !== before[place]?.['xmin'])).toHaveLength(1)
    })
  })
}
