import { describe, expect } from 'vitest'
import { lockName } from '../../../shared/core/names.ts'
import { sweepOnce } from '../sweeping.ts'
import { insertDue, law, type Subject, snapshot, sweepAll, tens } from './subject.ts'
import { countChanges, expectTraces, watchRows } from './trace.ts'

/** What a function does beside another start of itself. */
export function concurrencyLaws(subject: Subject): void {
  const { sweep } = subject
  const lock = lockName(sweep.purpose, 'taskq')
  const ofTen = tens(subject)

  describe('concurrency', () => {
    law(
      'twenty at once: one holder at any moment, no row twice, the rows add up, every run ends',
      async database => {
        await watchRows(database, subject)
        const rows = 400
        await insertDue(database, subject, rows)
        const holders: number[] = []
        const runs = Promise.all(
          Array.from({ length: 20 }, () =>
            sweepOnce(database, sweep, { ...ofTen, ports: { sleep: yieldOnce } }),
          ),
        )
        const sampled = sampleUntil(runs, async () => {
          const [row] = await database.rows<{ holders: number }>(
            `select count(*)::int as holders from pg_locks where locktype = 'advisory' and granted
             and ((classid::bigint << 32) | objid::bigint) = hashtextextended($1, 0)`,
            [lock],
          )
          holders.push(row?.holders ?? -1)
        })
        const [results] = await Promise.all([runs, sampled])
        expect(Math.max(...holders)).toBeLessThanOrEqual(1)
        // Many batches are seen at work; a batch of each arm may begin and end between two looks.
        if (sweep.drains) expect(holders).toContain(1)
        const taken = results.reduce((sum, result) => sum + result.rows, 0)
        expect(await countChanges(database)).toMatchObject({ changes: taken, rows: taken })
        if (sweep.drains) expect(taken).toBe(rows)
        const outcomes = ['drained', 'contended', 'handed_over', ...(sweep.drains ? [] : ['bounded'])]
        for (const { outcome } of results) expect(outcomes).toContain(outcome)
        expect(taken + (await sweepAll(database, subject)).rows).toBe(rows)
        await expectTraces(database, subject)
      },
    )

    law('a lock held elsewhere is left at once, and nothing is written', async database => {
      await insertDue(database, subject, 5)
      const holder = await database.client()
      await holder.query('begin')
      await holder.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [lock])
      const state = () => database.rows('select s::text from taskq.sweep_state s order by function')
      const before = [await snapshot(database, subject), await state()]
      expect(await sweepOnce(database, sweep)).toMatchObject({
        outcome: 'contended',
        batches: 0,
        remaining: null,
      })
      expect([await snapshot(database, subject), await state()]).toEqual(before)
    })

    if (sweep.drains) {
      law('a run that has worked hands over to one that took its lock', async database => {
        await insertDue(database, subject, 25)
        const holder = await database.client()
        let taken = false
        const connect = async () => {
          const connection = await database.connect()
          return new Proxy(connection, {
            get: (target, name) => {
              const value = Reflect.get(target, name, target)
              if (name !== 'chainBatch') return typeof value === 'function' ? value.bind(target) : value
              return async () => {
                await target.commit()
                if (!taken) await holder.query('begin')
                taken = true
                await holder.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [lock])
                return 'contended'
              }
            },
          })
        }
        const result = await sweepOnce(database, sweep, { ...ofTen, ports: { connect } })
        expect(result).toMatchObject({ outcome: 'handed_over', rows: 10, remaining: 15 })
        await holder.query('commit')
      })
    }
  })
}

const yieldOnce = () => new Promise<void>(resolve => setImmediate(resolve))

async function sampleUntil(ending: Promise<unknown>, sample: () => Promise<void>): Promise<void> {
  let ended = false
  const note = () => {
    ended = true
  }
  ending.then(note, note)
  do await sample()
  while (!ended)
}
