import { describe, expect } from 'vitest'
import { isLegalMove } from '../../../shared/core/states.ts'
import { sweepOnce } from '../sweeping.ts'
import { armOf, insertDue, insertKind, law, type Subject, snapshot } from './subject.ts'
import { countChanges, expectTraces, watchRows } from './trace.ts'

/** What a function does to rows, and what it leaves alone. */
export function moveLaws(subject: Subject): void {
  const { sweep } = subject
  const isOfJobs = armOf(subject).table === 'jobs'

  describe('moves', () => {
    law('takes every kind of due row, by moves that it declares and that are legal', async database => {
      await watchRows(database, subject)
      const rows = subject.due.length * 3
      await insertDue(database, subject, rows)
      const result = await sweepOnce(database, sweep)
      expect(result).toMatchObject({ outcome: 'drained', rows, remaining: 0 })
      const moved = await database.rows<{ from: never; to: never }>(
        'select distinct from_state as from, to_state as to from changes where from_state <> to_state',
      )
      for (const { from, to } of isOfJobs ? moved : []) {
        expect(sweep.moves).toContainEqual([from, to])
        expect(isLegalMove(from, to)).toBe(true)
      }
      expect(await countChanges(database)).toMatchObject({ changes: rows, rows })
      await expectTraces(database, subject)
    })

    law('spares every look-alike byte for byte', async database => {
      for (const kind of subject.spared) await insertKind(database, subject, kind, 3)
      const before = await snapshot(database, subject)
      await insertDue(database, subject, 6)
      const result = await sweepOnce(database, sweep)
      expect(result.rows).toBe(6)
      const after = new Set(await snapshot(database, subject))
      expect(before.filter(row => !after.has(row))).toEqual([])
    })

    law('finds nothing in a second run', async database => {
      await insertDue(database, subject, 7)
      await sweepOnce(database, sweep)
      const before = await snapshot(database, subject)
      const again = await sweepOnce(database, sweep)
      expect(again).toMatchObject({ outcome: 'drained', rows: 0, batches: sweep.arms.length })
      expect(again).not.toHaveProperty('byDisposition')
      expect(await snapshot(database, subject)).toEqual(before)
    })

    law('adds up: rows, dispositions and actors say the same', async database => {
      await insertDue(database, subject, 30)
      if (isOfJobs) {
        await database.rows(`update taskq.jobs set actor = 'actor-' || (abs(hashtext(id::text)) % 30)`)
      }
      const { rows, byDisposition = {}, byActor = {} } = await sweepOnce(database, sweep)
      const sum = (counts: readonly number[]) => counts.reduce((a, b) => a + b, 0)
      expect(rows).toBe(30)
      expect(sum(Object.values(byDisposition))).toBe(30)
      const ofActors = Object.values(byActor).flatMap(counts => Object.values(counts))
      expect(sum(ofActors)).toBe(isOfJobs ? 30 : 0)
      expect(Object.keys(byActor).length).toBeLessThanOrEqual(21)
    })

    law('commands no change of the schema', async database => {
      await database.rows(`create function refuse_command() returns event_trigger language plpgsql
        as $$ begin raise exception 'a change of the schema: %', tg_tag; end $$`)
      await insertDue(database, subject, 25)
      await database.rows(
        'create event trigger refuse on ddl_command_start execute function refuse_command()',
      )
      const settings = { [sweep.batchSize]: 10 }
      expect(await sweepOnce(database, sweep, { settings })).toMatchObject({ rows: sweep.drains ? 25 : 10 })
    })

    if (subject.leavesTrace) {
      law(
        'stamps are distinct, ascend with the ids and are the ones on the rows (B010, B012)',
        async database => {
          await insertDue(database, subject, 250)
          await sweepOnce(database, sweep)
          const [found] = await database.rows<Record<string, number>>(`
          select count(*)::int as events, count(distinct e.occurred_at)::int as stamps,
            count(*) filter (where e.occurred_at <= before)::int as unordered,
            count(*) filter (where a.finished_at is distinct from e.occurred_at)::int as attempts_off,
            count(*) filter (where j.finished_at <> e.occurred_at)::int as rows_off
          from (select *, lag(occurred_at) over (order by id) as before from taskq.job_events) e
          join taskq.job_attempts a using (job_id) join taskq.jobs j on j.id = e.job_id`)
          const off = { unordered: 0, attempts_off: 0, rows_off: 0 }
          expect(found).toMatchObject({ events: 250, stamps: 250, ...off })
        },
      )
    }
  })
}
