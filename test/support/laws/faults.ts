import { describe, expect } from 'vitest'
import type { Connection } from '../../../shared/sql/connection.ts'
import type { RunResult } from '../../../shared/sweeper/result.ts'
import type { TestDatabase } from '../database.ts'
import { snapshot } from '../jobs.ts'
import { sweepOnce, watched } from '../sweeping.ts'
import { insertDue, law, type Subject } from './subject.ts'
import { countMoves, expectTraces, watchMoves } from './trace.ts'

const tens = { settings: { eventWriterBatchSize: 10 } }
const serverError = (code: string) => Object.assign(new Error(`injected ${code}`), { code })

/**
 * A connection whose backend a test ends before the nth call of all goes out. Found by name, because behind
 * a pooler it changes from transaction to transaction, and between them there may be none.
 */
async function killedBefore(
  database: TestDatabase,
  nth: number,
  calls: { made: number },
): Promise<Connection> {
  const applicationName = 'to-be-ended'
  return watched(await database.connect({ applicationName }), async step => {
    calls.made += 1
    if (step === 'close' || calls.made !== nth) return
    await database.rows(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
       where application_name = $1 and datname = current_database()`,
      [applicationName],
    )
  })
}

/** What a function does when the server, another session or the network gets in its way. */
export function faultLaws(subject: Subject): void {
  const { sweep } = subject
  const state = (database: TestDatabase) =>
    database.rows(`select xmin::text, last_outcome, last_error is not null as has_error,
      last_success_at is not null as has_succeeded
      from taskq.sweep_state where function = '${sweep.purpose}'`)

  describe('faults', () => {
    law(
      'leaves whole batches when its backend is ended at any step, and the next run does the rest',
      async database => {
        await watchMoves(database)
        const rows = 35
        let steps = 0
        for (let isReached = true; isReached; steps++) {
          await database.rows('truncate taskq.jobs cascade; truncate taskq.job_events; truncate moves')
          await insertDue(database, subject, rows)
          const calls = { made: 0 }
          const connect = () => killedBefore(database, steps + 1, calls)
          await sweepOnce(database, sweep, { ...tens, ports: { connect } }).catch(() => undefined)
          isReached = calls.made > steps
          const { moves, largest } = await countMoves(database)
          expect(largest).toBeLessThanOrEqual(10)
          expect([0, 10, 20, 30, 35]).toContain(moves)
          await expectTraces(database, subject)
          const rest = await sweepOnce(database, sweep, tens)
          expect(moves + rest.rows).toBe(rows)
          expect(await countMoves(database)).toMatchObject({ moves: rows, jobs: rows })
          await expectTraces(database, subject)
        }
        // State, opening, each statement, chain and commit, the state again: each was a step to die at.
        expect(steps).toBeGreaterThanOrEqual(10)
      },
    )

    law('waits for no locked row, and locked rows do not use up its window (C06)', async database => {
      const ids = await insertDue(database, subject, 35)
      const holder = await database.client()
      await holder.query('begin')
      await holder.query(
        `select id from taskq.jobs
         order by scheduled_at, reclaim_at, schedule_to_close, id limit 12 for update`,
      )
      const result = await sweepOnce(database, sweep, tens)
      expect(result).toMatchObject({ outcome: 'drained', rows: ids.length - 12, remaining: 12 })
      expect(result).not.toHaveProperty('batchesAborted')
      await holder.query('commit')
      expect(await sweepOnce(database, sweep, tens)).toMatchObject({ outcome: 'drained', rows: 12 })
    })

    law('takes in its last window what was locked in its first', async database => {
      await insertDue(database, subject, 25)
      const holder = await database.client()
      await holder.query('begin')
      await holder.query('select id from taskq.jobs order by reclaim_at, scheduled_at, id limit 3 for update')
      let statements = 0
      const onStep = async (step: string) => {
        if (step === 'run' && ++statements === 3) await holder.query('commit')
      }
      const connect = async () => watched(await database.connect(), onStep)
      expect(await sweepOnce(database, sweep, { ...tens, ports: { connect } })).toMatchObject({ rows: 25 })
    })

    law(
      'tries a batch three times where it lost a deadlock or a lock wait, and not at all after a timeout',
      async database => {
        const failing = (code: string, times: number) => async () => {
          let failures = 0
          let statements = 0
          return watched(await database.connect(), step => {
            if (step === 'run' && ++statements > 2 && failures++ < times) throw serverError(code)
          })
        }
        const runWith = async (code: string, times: number) => {
          await database.rows('truncate taskq.jobs cascade')
          await insertDue(database, subject, 15)
          return sweepOnce(database, sweep, { ...tens, ports: { connect: failing(code, times) } })
        }
        for (const code of ['40P01', '40001', '55P03']) {
          expect(await runWith(code, 2)).toMatchObject({ outcome: 'drained', rows: 15, batchesAborted: 2 })
        }
        expect(await runWith('40P01', 3)).toMatchObject({ outcome: 'aborted', rows: 10, batchesAborted: 3 })
        expect(await runWith('57014', 1)).toMatchObject({
          outcome: 'aborted',
          rows: 10,
          batchesAborted: 1,
          remaining: 5,
        })
      },
    )

    law(
      'ends as aborted where the server ends its batch, keeps the ones before, and says why',
      async database => {
        await insertDue(database, subject, 25)
        await database.rows('create sequence slow')
        await database.rows(`create function slow_down() returns trigger language plpgsql
          security definer as $$ begin
        if nextval('slow') = 15 then perform pg_sleep(60); end if; return new; end $$`)
        await database.rows(
          'create trigger slow_down before update on taskq.jobs for each row execute function slow_down()',
        )
        const settings = { ...tens.settings, eventWriterStatementTimeoutMs: 100 }
        const result = await sweepOnce(database, sweep, { settings })
        expect(result).toMatchObject({ outcome: 'aborted', rows: 10, batchesAborted: 1 })
        expect(await state(database)).toMatchObject([
          { last_outcome: 'aborted', has_error: true, has_succeeded: false },
        ])
        expect(await sweepOnce(database, sweep, tens)).toMatchObject({ outcome: 'drained', rows: 15 })
        expect(await state(database)).toMatchObject([
          { last_outcome: 'drained', has_error: false, has_succeeded: true },
        ])
      },
    )

    law(
      'throws where the fault is no timeout, after committing what came before, and leaves a trace',
      async database => {
        await insertDue(database, subject, 25)
        await database.rows('create sequence bad')
        await database.rows(`create function refuse() returns trigger language plpgsql
          security definer as $$ begin
        if nextval('bad') = 15 then raise exception 'a bad row'; end if; return new; end $$`)
        await database.rows(
          'create trigger refuse before update on taskq.jobs for each row execute function refuse()',
        )
        const told: RunResult[] = []
        const ports = { interrupted: (done: RunResult) => void told.push(done) }
        await expect(sweepOnce(database, sweep, { ...tens, ports })).rejects.toThrow('a bad row')
        expect(told).toMatchObject([{ batches: 1, rows: 10 }])
        expect(await state(database)).toMatchObject([{ has_error: true, has_succeeded: false }])
        expect(await sweepOnce(database, sweep, tens)).toMatchObject({ rows: 15 })
      },
    )

    law('counts no batch whose commit the server refused', async database => {
      await insertDue(database, subject, 25)
      await database.rows(`create function refuse_late() returns trigger language plpgsql
          security definer as $$ begin
        raise exception 'refused at the commit'; end $$`)
      await database.rows(`create constraint trigger refuse_late after update on taskq.jobs
        deferrable initially deferred for each row execute function refuse_late()`)
      const before = await snapshot(database)
      const told: RunResult[] = []
      const ports = { interrupted: (done: RunResult) => void told.push(done) }
      await expect(sweepOnce(database, sweep, { ...tens, ports })).rejects.toThrow('refused at the commit')
      expect(told).toEqual([])
      expect(await snapshot(database)).toEqual(before)
    })

    law(
      'throws at the wrong target and writes nothing: no lock, no setting, no row (C29)',
      async database => {
        await insertDue(database, subject, 5)
        const before = await snapshot(database)
        const stateBefore = await state(database)
        const settings = { installationId: '00000000-0000-4000-8000-000000000000' }
        for (const request of [{}, { dryRun: true }, { trigger: 'smoke' as const }]) {
          await expect(sweepOnce(database, sweep, { settings, request })).rejects.toMatchObject({
            code: 'WRONG_TARGET',
          })
        }
        expect(await snapshot(database)).toEqual(before)
        expect(await state(database)).toEqual(stateBefore)
      },
    )

    law('switched off, it writes nothing', async database => {
      await insertDue(database, subject, 5)
      await database.rows(
        `update taskq.sweep_state set disabled_at = now() where function = '${sweep.purpose}'`,
      )
      const before = [await snapshot(database), await state(database)]
      expect(await sweepOnce(database, sweep)).toMatchObject({
        outcome: 'disabled',
        rows: 0,
        remaining: null,
      })
      expect([await snapshot(database), await state(database)]).toEqual(before)
    })

    law('a dry run counts what is due and writes nothing at all', async database => {
      await insertDue(database, subject, 12)
      const before = [await snapshot(database), await state(database)]
      expect(await sweepOnce(database, sweep, { request: { dryRun: true } })).toMatchObject({ eligible: 12 })
      expect([await snapshot(database), await state(database)]).toEqual(before)
    })

    law('leaves no setting, no role and no lock behind on its connection (B004)', async database => {
      await insertDue(database, subject, 15)
      const connection = await database.connect()
      // The settings of plpgsql show once its library is loaded.
      const session = () =>
        connection.script(`select name, setting, current_user as role from pg_settings
          where name not like 'plpgsql.%' order by name`)
      const before = await session()
      const kept = new Proxy(connection, {
        get: (target, name) => {
          if (name === 'close') return () => Promise.resolve()
          const value = Reflect.get(target, name, target)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
      await sweepOnce(database, sweep, { ...tens, ports: { connect: () => Promise.resolve(kept) } })
      expect(await session()).toEqual(before)
      const locks = `select objid from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`
      expect(await database.rows(locks)).toEqual([])
    })
  })
}
