import { describe, expect } from 'vitest'
import { run } from '../../../shared/sweeper/run.ts'
import { portsOn, settingsWith, sweepOnce, watched } from '../sweeping.ts'
import { insertDue, insertKind, law, type Subject, snapshot, sweepAll, tens } from './subject.ts'
import { countChanges, onChange, watchRows } from './trace.ts'

/** How much a function does at a time. */
export function boundLaws(subject: Subject): void {
  const { sweep } = subject
  const ofTen = tens(subject)
  const batches = sweep.arms.flatMap(() => ['openBatch', 'run', 'commit'])

  describe('bounds', () => {
    law('never changes more rows than its bound in one transaction', async database => {
      await watchRows(database, subject)
      await insertDue(database, subject, 45)
      const { rows, last } = await sweepAll(database, subject, ofTen)
      expect([rows, last]).toMatchObject([45, { outcome: 'drained', batchSize: 10 }])
      expect(await countChanges(database)).toMatchObject({ changes: 45, transactions: 5, largest: 10 })
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
      // State, a batch of each arm, state, and in a transaction of its own what remains of each.
      const remains = ['openBatch', ...sweep.arms.map(() => 'run'), 'rollback']
      expect(few).toEqual(['run', ...batches, 'run', ...remains, 'close'])
    })

    law('begins nothing that the time left cannot hold', async database => {
      await insertDue(database, subject, 5)
      const before = await snapshot(database, subject)
      const result = await sweepOnce(database, sweep, { ports: { remainingMs: () => 5000 } })
      expect(result).toMatchObject({ outcome: 'out_of_time', batches: 0, rows: 0, remaining: 5 })
      expect(await snapshot(database, subject)).toEqual(before)
    })

    law('goes on after a full window whose rows were taken away (B013)', async database => {
      await insertDue(database, subject, 35)
      // The first ten changes do not happen, as if a claimer had been faster: the window was full, though.
      await database.rows('create sequence taken')
      await onChange(database, subject, `if nextval('taken') <= 10 then return null; end if`)
      const { rows, last } = await sweepAll(database, subject, ofTen)
      expect([rows, last]).toMatchObject([35, { outcome: 'drained' }])
    })

    law('an idle run is one empty window an arm and one write, of its own row', async database => {
      for (const kind of subject.spared) await insertKind(database, subject, kind, 2)
      await sweepOnce(database, sweep)
      const connection = await database.connect()
      const steps: string[] = []
      const connect = async () => watched(connection, step => void steps.push(step))
      const before = await database.rows('select xmin::text, function from taskq.sweep_state order by 2')
      await run(sweep, { trigger: 'manual', settings: settingsWith() }, portsOn(database, { connect }))
      const after = await database.rows('select xmin::text, function from taskq.sweep_state order by 2')
      expect(steps).toEqual(['run', ...batches, 'run', 'close'])
      expect(after.filter((row, place) => row['xmin'] !== before[place]?.['xmin'])).toHaveLength(1)
    })
  })
}
