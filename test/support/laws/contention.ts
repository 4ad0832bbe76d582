import { describe, expect } from 'vitest'
import { sweepOnce } from '../sweeping.ts'
import { insertDue, insertKind, law, lockFirst, type Subject, sweepAll, tens } from './subject.ts'

/** What stands in a function's way hides nothing behind it, however much of it there is. */
export function contentionLaws(subject: Subject): void {
  const { sweep } = subject
  const ofTen = tens(subject)

  describe('contention', () => {
    law('waits for no locked row, and a page of locked rows hides none behind it (C06)', async database => {
      await insertDue(database, subject, 35)
      const unlock = await lockFirst(database, subject, 12)
      const { rows, last } = await sweepAll(database, subject, ofTen)
      expect([rows, last]).toMatchObject([23, { outcome: 'drained' }])
      expect(last).not.toHaveProperty('batchesAborted')
      await unlock()
      expect((await sweepAll(database, subject, ofTen)).rows).toBe(12)
    })

    law('a page of look-alikes ahead hides none behind it (B020, B102)', async database => {
      for (const kind of [...subject.spared, ...(subject.ahead ?? [])]) {
        await insertKind(database, subject, kind, 12)
      }
      await insertDue(database, subject, 5)
      expect(await sweepOnce(database, sweep, ofTen)).toMatchObject({ outcome: 'drained', rows: 5 })
    })

    if (sweep.head !== null) {
      law(
        'a page of rows set aside hides none behind it, until their time has come (C04)',
        async database => {
          await insertDue(database, subject, 25)
          await database.rows(`insert into taskq.sweep_quarantine (function, row_key, until)
          select '${sweep.purpose}', id::text, clock_timestamp() + interval '1 hour' from taskq.jobs`)
          await insertDue(database, subject, 5)
          expect(await sweepOnce(database, sweep, ofTen)).toMatchObject({ rows: 5, remaining: 0 })
          await database.rows(`update taskq.sweep_quarantine set until = clock_timestamp()`)
          expect(await sweepOnce(database, sweep, ofTen)).toMatchObject({ rows: 25, remaining: 0 })
        },
      )
    }
  })
}
