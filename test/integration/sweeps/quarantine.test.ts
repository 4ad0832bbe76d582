import { describe, expect, it } from 'vitest'
import type { RunResult } from '../../../shared/sweeper/result.ts'
import { setAsideMax } from '../../../shared/sweeper/set-aside.ts'
import { deadlineExceeded } from '../../../shared/sweeps/deadline_exceeded.ts'
import { expiredLocks } from '../../../shared/sweeps/expired_locks.ts'
import { promotion } from '../../../shared/sweeps/promotion.ts'
import { openDatabase, type TestDatabase } from '../../support/database.ts'
import { insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { settingsWith, sweepOnce, watched } from '../../support/sweeping.ts'
import { anything, workerOn } from '../../support/working.ts'

const cases = [
  { sweep: promotion, due: scheduledJob({ due: true }) },
  { sweep: expiredLocks, due: lockedJob({ expired: true }) },
  { sweep: deadlineExceeded, due: pendingJob({ overdue: true }) },
]

/** A database in which the jobs of a table `bad` cannot be updated: its trigger raises, or hangs. */
async function withBadRows(does: string, check: (database: TestDatabase) => Promise<void>): Promise<void> {
  const database = await openDatabase()
  await database.rows(`create table bad (id uuid primary key);
    create function refuse() returns trigger language plpgsql security definer as $$ begin
      if exists (select from public.bad b where b.id = new.id) then ${does}; end if; return new; end $$;
    create trigger refuse before update on taskq.jobs for each row execute function public.refuse()`)
  await check(database).finally(() => database.close())
}
const raises = `raise exception 'this row is bad'`
const hangs = 'perform pg_sleep(60)'

const spoil = (database: TestDatabase, ids: readonly (string | undefined)[]) =>
  database.rows('insert into bad select unnest($1::uuid[])', [ids])
const setAside = (database: TestDatabase, purpose: string) =>
  database.rows<{ row_key: string; failures: number; minutes: number; last_error: string }>(
    `select row_key, failures, last_error,
       round(extract(epoch from until - clock_timestamp()) / 60)::int as minutes
     from taskq.sweep_quarantine where function = $1 order by row_key`,
    [purpose],
  )
/** As if the time aside of every row were over. */
const timePasses = (database: TestDatabase) =>
  database.rows(`update taskq.sweep_quarantine set until = clock_timestamp() - interval '1 second'`)

describe.each(cases)('$sweep.purpose', ({ sweep, due }) => {
  it('does 9,990 of 10,000 in the run in which ten fail, and names the ten', () =>
    withBadRows(raises, async database => {
      const ids = await insertJobs(database, due, 10_000)
      const bad = ids.filter((_, place) => place % 1000 === 137).toSorted()
      await spoil(database, bad)
      const result = await sweepOnce(database, sweep)
      expect(result).toMatchObject({ outcome: 'drained', rows: 9990, remaining: 0 })
      expect(result.quarantined?.toSorted()).toEqual(bad)
      expect(await setAside(database, sweep.purpose)).toEqual(
        bad.map(row_key => ({ row_key, failures: 1, minutes: 5, last_error: 'this row is bad' })),
      )
      // Bad rows are no aborts, and they stay out of the next run.
      expect(result).not.toHaveProperty('batchesAborted')
      const next = await sweepOnce(database, sweep)
      expect(next).toMatchObject({ outcome: 'drained', rows: 0, batches: 1 })
      expect(next).not.toHaveProperty('quarantined')
    }))

  it('lets them come back later and later, and forgets those that no longer fail', () =>
    withBadRows(raises, async database => {
      const [worse, better] = (await insertJobs(database, due, 2)).toSorted()
      await spoil(database, [worse, better])
      await sweepOnce(database, sweep)
      const minutes: number[] = []
      for (const _ of Array(10)) {
        await timePasses(database)
        await sweepOnce(database, sweep)
        minutes.push((await setAside(database, sweep.purpose))[0]?.minutes ?? 0)
      }
      expect(minutes).toEqual([10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440])
      await database.rows('delete from bad where id = $1', [better])
      await timePasses(database)
      expect(await sweepOnce(database, sweep)).toMatchObject({ rows: 1, quarantined: [worse] })
      expect((await setAside(database, sweep.purpose)).map(row => row.row_key)).toEqual([worse])
    }))

  it('finds a row that fails only at the commit, and one in batches of one', () =>
    withBadRows(raises, async database => {
      await database.rows(`drop trigger refuse on taskq.jobs;
        create constraint trigger refuse after update on taskq.jobs deferrable initially deferred
          for each row execute function public.refuse()`)
      const [bad] = await insertJobs(database, due, 12)
      await spoil(database, [bad])
      const settings = { eventWriterBatchSize: 1 }
      expect(await sweepOnce(database, sweep, { settings })).toMatchObject({ rows: 11, quarantined: [bad] })
      await timePasses(database)
      await insertJobs(database, due, 12)
      expect(await sweepOnce(database, sweep)).toMatchObject({ rows: 12, quarantined: [bad] })
    }))

  it('takes a batch without time for no bad row, but does so in its reduced tier', () =>
    withBadRows(hangs, async database => {
      const ids = await insertJobs(database, due, 40)
      await spoil(database, [ids[17]])
      const settings = { eventWriterBatchSize: 20, eventWriterStatementTimeoutMs: 200 }
      expect(await sweepOnce(database, sweep, { settings })).toMatchObject({
        outcome: 'aborted',
        batchesAborted: 1,
      })
      expect(await setAside(database, sweep.purpose)).toEqual([])
      await database.rows(`update taskq.sweep_state set latched_at = clock_timestamp()`)
      const result = await sweepOnce(database, sweep, { settings })
      expect(result).toMatchObject({
        outcome: 'drained',
        degraded: true,
        batchSize: 5,
        quarantined: [ids[17]],
      })
      const [done] = await database.rows(
        `select count(*)::int as rows from taskq.jobs j
        where j.status = $1::taskq.job_status`,
        [String(due['status']).replaceAll("'", '')],
      )
      expect(done).toEqual({ rows: 1 })
    }))
})

it('goes on over a new connection where the client gave a statement up and lost its own', () =>
  withBadRows(hangs, async database => {
    const ids = await insertJobs(database, scheduledJob({ due: true }), 20)
    await spoil(database, [ids[7]])
    await database.rows('update taskq.sweep_state set latched_at = now()')
    const settings = { eventWriterBatchSize: 40, eventWriterStatementTimeoutMs: 300 }
    const connect = () => database.connect({ queryTimeoutMs: 150 })
    const sleep = (ms: number) => database.rows('select pg_sleep($1)', [ms / 1000]).then(() => undefined)
    const result = await sweepOnce(database, promotion, { settings, ports: { connect, sleep } })
    expect(result).toMatchObject({ outcome: 'drained', rows: 19, quarantined: [ids[7]] })
  }))

describe('what is no bad row but a fault', () => {
  it(`is thrown after ${setAsideMax.run} rows of a run, and what was done stays`, () =>
    withBadRows(raises, async database => {
      const ids = await insertJobs(database, scheduledJob({ due: true }), 300)
      await spoil(database, ids.slice(100))
      await expect(sweepOnce(database, promotion)).rejects.toThrow('this row is bad')
      expect(await setAside(database, 'promotion')).toHaveLength(setAsideMax.run)
      const [state] = await database.rows(`select last_outcome, last_success_at, last_error
        from taskq.sweep_state where function = 'promotion'`)
      expect(state).toEqual({ last_outcome: 'aborted', last_success_at: null, last_error: 'this row is bad' })
      const done = await database.rows(`select from taskq.jobs where status = 'pending'`)
      expect(done).toHaveLength(100)
    }))

  it(`is thrown where ${setAsideMax.function} rows of a function stand aside already`, () =>
    withBadRows(raises, async database => {
      await database.rows(`insert into taskq.sweep_quarantine (function, row_key, until)
        select 'promotion', gen_random_uuid(), now() + interval '1 day'
        from generate_series(1, ${setAsideMax.function - 1})`)
      const ids = await insertJobs(database, scheduledJob({ due: true }), 4)
      await spoil(database, ids.slice(1, 3))
      const told: RunResult[] = []
      const ports = { interrupted: (done: RunResult) => void told.push(done) }
      await expect(sweepOnce(database, promotion, { ports })).rejects.toThrow('this row is bad')
      // One of the two had room; the other is where it stopped.
      expect(told[0]?.quarantined).toHaveLength(1)
      expect(await setAside(database, 'promotion')).toHaveLength(setAsideMax.function)
    }))

  it('is thrown at once where the statement itself cannot be had', () =>
    withBadRows(raises, async database => {
      await insertJobs(database, scheduledJob({ due: true }), 40)
      await database.rows('alter table taskq.jobs rename column actor to performer')
      await expect(sweepOnce(database, promotion)).rejects.toMatchObject({ code: '42703' })
      expect(await setAside(database, 'promotion')).toEqual([])
    }))
})

/** A trigger may come to anything for one row, also to what else would speak of the server or the session. */
it.each([
  ['a table that is missing for this row alone', `perform 1 from tenant_77.audit`],
  ['a function that is missing', 'perform no_such_function()'],
  ...['22012', '23505', '42501', 'XX000', '53100', '55000', '57P01', '08006', 'UX123'].map(code => [
    `an error raised as ${code}`,
    `raise exception 'refused' using errcode = '${code}'`,
  ]),
])('%s stops no other row', (_, does = '') =>
  withBadRows(does, async database => {
    const ids = await insertJobs(database, scheduledJob({ due: true }), 12)
    await spoil(database, [ids[5]])
    expect(await sweepOnce(database, promotion)).toMatchObject({ rows: 11, quarantined: [ids[5]] })
  }),
)

it('heals by itself from rows whose time is over, or which are gone', () =>
  withBadRows(raises, async database => {
    await database.rows(`insert into taskq.sweep_quarantine (function, row_key, until)
      select 'promotion', gen_random_uuid(), now() - interval '1 minute' from generate_series(1, 500)`)
    const [bad] = await insertJobs(database, scheduledJob({ due: true }), 30)
    await spoil(database, [bad])
    expect(await sweepOnce(database, promotion)).toMatchObject({ rows: 29, quarantined: [bad] })
    expect(await setAside(database, 'promotion')).toMatchObject([{ row_key: bad }])
  }))

it('blames the row that failed, and none that stood beside it when it was looked for', () =>
  withBadRows(raises, async database => {
    const [first, good, last] = await insertJobs(database, scheduledJob({ due: true }), 3)
    await spoil(database, [first, last])
    const holder = await database.client()
    await holder.query('begin')
    await holder.query('select from taskq.jobs where id = $1 for update', [first])
    let statements = 0
    // State, the window of two that fails, whose turn it is: then the bad row before that one is set free.
    const onStep = async (step: string) => {
      if (step === 'run' && ++statements === 4) await holder.query('commit')
    }
    const connect = async () => watched(await database.connect(), onStep)
    const settings = { eventWriterBatchSize: 2 }
    const { quarantined } = await sweepOnce(database, promotion, { settings, ports: { connect } })
    expect(statements).toBeGreaterThan(4)
    expect(quarantined?.toSorted()).toEqual([first, last].toSorted())
    expect(await database.rows(`select id from taskq.jobs where status = 'pending'`)).toEqual([{ id: good }])
  }))

it('an empty claim’s repair leaves alone what was set aside, and does the rest', () =>
  withBadRows(raises, async database => {
    const [late] = await insertJobs(database, scheduledJob({ due: true }))
    const [held] = await insertJobs(database, { ...lockedJob({ expired: true }), max_attempts: '1' })
    await spoil(database, [late, held])
    for (const sweep of [promotion, expiredLocks]) await sweepOnce(database, sweep)
    const [good] = await insertJobs(database, scheduledJob({ due: true }))
    const worker = await workerOn(database, [anything().run(async () => undefined)])
    const ended = () => database.rows(`select id from taskq.jobs where status = 'succeeded'`)
    await expect.poll(ended).toEqual([{ id: good }])
    await worker.stop()
    expect((await worker.health()).worker.repairErrors).toBe(0)
  }))

it('is no matter of another function, which takes the row', async () => {
  const database = await openDatabase()
  const [id] = await insertJobs(database, scheduledJob({ due: true }))
  await database.rows(`insert into taskq.sweep_quarantine (function, row_key, until)
    values ('expired_locks', '${id}', now() + interval '1 hour')`)
  expect(await sweepOnce(database, promotion)).toMatchObject({ rows: 1 })
  await database.close()
})

it('a dry run and a report of what remains count without what was set aside', () =>
  withBadRows(raises, async database => {
    const ids = await insertJobs(database, scheduledJob({ due: true }), 7)
    await spoil(database, ids.slice(0, 3))
    await sweepOnce(database, promotion, { settings: settingsWith() })
    await insertJobs(database, scheduledJob({ due: true }), 2)
    expect(await sweepOnce(database, promotion, { request: { dryRun: true } })).toMatchObject({ eligible: 2 })
  }))
