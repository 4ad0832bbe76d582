import { describe, expect } from 'vitest'
import type { RunResult } from '../../../shared/sweeper/result.ts'
import type { TestDatabase } from '../database.ts'
import { killedBefore, sweepOnce, watched } from '../sweeping.ts'
import { armOf, clear, insertDue, law, type Subject, snapshot, sweepAll, tens } from './subject.ts'
import { countChanges, expectTraces, onChange, watchRows } from './trace.ts'

const serverError = (code: string) => Object.assign(new Error(`injected ${code}`), { code })

/** What a function does when the server, another session or the network gets in its way. */
export function faultLaws(subject: Subject): void {
  const { sweep } = subject
  const ofTen = tens(subject)
  /** Rows that are committed before the batch in which something goes wrong. */
  const before = sweep.drains ? 10 : 0
  /** Batches that are committed where one of this arm's is not the first: of it, and of the other arms. */
  const batchesBefore = before / 10 + sweep.arms.length - 1

  const state = (database: TestDatabase) =>
    database.rows(`select last_outcome, last_error is not null as has_error,
      last_success_at is not null as has_succeeded
      from taskq.sweep_state where function = '${sweep.purpose}'`)

  describe('faults', () => {
    law(
      'leaves whole batches when its backend is ended at any step, and the next run does the rest',
      async database => {
        await watchRows(database, subject)
        const rows = 35
        let steps = 0
        for (let isReached = true; isReached; steps++) {
          await clear(database, subject)
          await database.rows('truncate changes')
          await insertDue(database, subject, rows)
          const calls = { made: 0 }
          const connect = () => killedBefore(database, steps + 1, calls)
          await sweepOnce(database, sweep, { ...ofTen, ports: { connect } }).catch(() => undefined)
          isReached = calls.made > steps
          const { changes, largest } = await countChanges(database)
          expect(largest).toBeLessThanOrEqual(10)
          expect([0, 10, 20, 30, 35]).toContain(changes)
          await expectTraces(database, subject)
          const rest = await sweepAll(database, subject, ofTen)
          expect(changes + rest.rows).toBe(rows)
          expect(await countChanges(database)).toMatchObject({ changes: rows, rows })
          await expectTraces(database, subject)
        }
        // State, opening, each statement, chain and commit, the state again: each was a step to die at.
        expect(steps).toBeGreaterThanOrEqual(10)
      },
    )

    law(
      'tries a batch three times where it lost a deadlock or a lock wait, and not at all after a timeout',
      async database => {
        const { batch } = armOf(subject)
        const failing = (code: string, times: number) => async () => {
          let failures = 0
          let statements = 0
          return watched(await database.connect(), (_, [statement]) => {
            if (statement === batch && ++statements > before / 10 && failures++ < times)
              throw serverError(code)
          })
        }
        const runWith = async (code: string, times: number) => {
          await clear(database, subject)
          await insertDue(database, subject, before + 5)
          return sweepOnce(database, sweep, { ...ofTen, ports: { connect: failing(code, times) } })
        }
        const whole = { outcome: 'drained', rows: before + 5, batchesAborted: 2 }
        for (const code of ['40P01', '40001', '55P03']) expect(await runWith(code, 2)).toMatchObject(whole)
        const part = { outcome: 'aborted', rows: before, remaining: 5 }
        expect(await runWith('40P01', 3)).toMatchObject({ ...part, batchesAborted: 3 })
        expect(await runWith('57014', 1)).toMatchObject({ ...part, batchesAborted: 1 })
      },
    )

    law(
      'ends as aborted where the server ends its batch, keeps the ones before, and says why',
      async database => {
        await insertDue(database, subject, before + 15)
        await database.rows('create sequence slow')
        await onChange(
          database,
          subject,
          `if nextval('slow') = ${before + 5} then perform pg_sleep(60); end if`,
        )
        const settings = { ...ofTen.settings, [sweep.statementTimeout]: 100 }
        const result = await sweepOnce(database, sweep, { settings })
        expect(result).toMatchObject({ outcome: 'aborted', rows: before, batchesAborted: 1 })
        expect(await state(database)).toEqual([
          { last_outcome: 'aborted', has_error: true, has_succeeded: false },
        ])
        expect((await sweepAll(database, subject, ofTen)).rows).toBe(15)
        expect(await state(database)).toEqual([
          { last_outcome: 'drained', has_error: false, has_succeeded: true },
        ])
      },
    )

    if (sweep.head === null) {
      law(
        'throws where the fault is no timeout, after committing what came before, and leaves a trace',
        async database => {
          await insertDue(database, subject, before + 15)
          await database.rows('create sequence bad')
          await onChange(
            database,
            subject,
            `if nextval('bad') = ${before + 5} then raise exception 'a bad row'; end if`,
          )
          const told: RunResult[] = []
          const ports = { interrupted: (done: RunResult) => void told.push(done) }
          await expect(sweepOnce(database, sweep, { ...ofTen, ports })).rejects.toThrow('a bad row')
          expect(told).toMatchObject([{ batches: batchesBefore, rows: before }])
          expect(await state(database)).toMatchObject([{ has_error: true, has_succeeded: false }])
          expect((await sweepAll(database, subject, ofTen)).rows).toBe(15)
        },
      )
    } else {
      law('commits around a row that fails by itself, names it and goes on (C04)', async database => {
        await insertDue(database, subject, 25)
        const [{ id } = { id: '' }] = await database.rows<{ id: string }>(
          'select id from taskq.jobs offset 12',
        )
        await onChange(database, subject, `if old.id = '${id}' then raise exception 'a bad row'; end if`)
        const result = await sweepOnce(database, sweep, ofTen)
        expect(result).toMatchObject({ outcome: 'drained', rows: 24, remaining: 0, quarantined: [id] })
      })
    }

    law('counts no batch whose commit the server refused', async database => {
      const { table } = armOf(subject)
      await insertDue(database, subject, 25)
      await database.rows(`create function refuse_late() returns trigger language plpgsql
          security definer as $$ begin
        raise exception 'refused at the commit'; end $$`)
      await database.rows(`create constraint trigger refuse_late after update or delete on taskq.${table}
        deferrable initially deferred for each row execute function refuse_late()`)
      const untouched = await snapshot(database, subject)
      const told: RunResult[] = []
      const ports = { interrupted: (done: RunResult) => void told.push(done) }
      await expect(sweepOnce(database, sweep, { ...ofTen, ports })).rejects.toThrow('refused at the commit')
      expect(told.filter(({ rows }) => rows > 0)).toEqual([])
      expect(await snapshot(database, subject)).toEqual(untouched)
    })
  })
}
