import { afterEach, describe, expect, it } from 'vitest'
import { type DatabaseRole, databaseRoles } from '../../../shared/core/names.ts'
import { schema, sql } from '../../../shared/sql/statement.ts'
import { vitalSigns, watch } from '../../../shared/sweeper/vital-signs.ts'
import { openDatabase, type TestDatabase, useDatabase } from '../../support/database.ts'
import { insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { makeLogin } from '../../support/logins.ts'
import { settingsWith, watched } from '../../support/sweeping.ts'
import { unclaimedJob, watchOnce } from '../../support/watching.ts'

const database = useDatabase()
const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** A database of a test's own, which it may break. */
async function own(): Promise<TestDatabase> {
  const opened = await openDatabase()
  ends.push(() => opened.close())
  return opened
}

const named = (start: string) =>
  vitalSigns.gauges.map(({ name }) => name).filter(name => name.startsWith(start))

/** Everything that a function could write, to the byte. */
const everything = (of: TestDatabase) =>
  of.rows(`select (select jsonb_agg(to_jsonb(j) || jsonb_build_object('x', j.xmin::text) order by id)
      from taskq.jobs j) as jobs,
    (select jsonb_agg(to_jsonb(s) || jsonb_build_object('x', s.xmin::text) order by function)
      from taskq.sweep_state s) as states,
    (select count(*) from taskq.job_events) as events, (select count(*) from taskq.operator_audit) as audit`)

describe('the watcher', () => {
  it('says what it read, what it could not, and of what, in one object', async () => {
    const signs = await watchOnce(database())
    expect(signs).toEqual({
      function: 'vital_signs',
      schema: 'taskq',
      trigger: 'manual',
      outcome: 'drained',
      gauges: expect.objectContaining({ SweepsStale: 0, GaugeReadFailed: 0 }),
      failed: [],
      worst: {},
      durationMs: expect.any(Number),
    })
    const published = vitalSigns.metrics.map(({ name }) => name)
    expect(Object.keys(signs.gauges).filter(name => !published.includes(name))).toEqual([])
    expect(new Set(published).size).toBe(published.length)
  })

  it('writes no row, not even of itself, and takes no lock', async () => {
    const mine = await own()
    await insertJobs(mine, scheduledJob({ due: true }), 5)
    await insertJobs(mine, lockedJob({ expired: true }), 5)
    await insertJobs(mine, unclaimedJob('1 hour'), 5)
    const holder = await mine.client()
    await holder.query(`begin; select pg_advisory_xact_lock(hashtextextended('taskq:vital_signs:taskq', 0))`)
    const before = await everything(mine)
    expect((await watchOnce(mine)).gauges).toMatchObject({ UnclaimedOverLimit: 1, JobsDueNotPromoted: 5 })
    await holder.query('rollback')
    expect(await everything(mine)).toEqual(before)
  })

  it('reads each gauge in a transaction of its own, and leaves none open', async () => {
    const steps: string[] = []
    const connect = async () => watched(await database().connect(), step => void steps.push(step))
    await watchOnce(database(), { connect })
    const each = ['openBatch', 'run', 'rollback']
    expect(steps).toEqual([...vitalSigns.gauges.flatMap(() => each), 'close'])
  })

  it('could not write: the server refuses it in each of its transactions', async () => {
    const [gauge] = vitalSigns.gauges
    if (gauge === undefined) throw new Error('there is no gauge')
    const write = sql`insert into ${schema}.sweep_quarantine (function, row_key, until)
      values ('a', 'b', now()) returning 1::float8 as value, '[]'::jsonb as worst`
    const writing = {
      ...vitalSigns,
      gauges: [{ ...gauge, statement: { ...gauge.statement, fragment: write } }],
    }
    const settings = settingsWith()
    const ports = { connect: () => database().connect(), nowMs: () => 0, remainingMs: () => 60_000 }
    const watching = watch(writing, { trigger: 'manual', settings, expected: [] }, ports)
    await expect(watching).rejects.toMatchObject({ code: '25006' })
  })

  it('reads each gauge at that moment', async () => {
    const mine = await own()
    let reads = 0
    const connect = async () =>
      watched(await mine.connect(), async step => {
        if (step === 'run' && ++reads === 2)
          await mine.rows(
            `insert into taskq.sweep_quarantine (function, row_key, until) values ('a', 'b', now())`,
          )
      })
    expect((await watchOnce(mine, { connect })).gauges).toMatchObject({ RowsQuarantined: 1 })
  })

  it.each<[DatabaseRole]>([['maintenance'], ['reader']])('can read all as a login of %s', async role => {
    const login = await makeLogin(database(), `in role taskq_${role}`)
    ends.push(() => login.drop())
    expect((await watchOnce(database(), { connect: () => login.connect() })).failed).toEqual([])
    expect(databaseRoles).toContain(role)
  })
})

describe('a gauge that cannot be read', () => {
  it('is absent and counted, and the others go on', async () => {
    const mine = await own()
    await mine.rows('alter table taskq.queues rename to gone')
    await insertJobs(mine, scheduledJob({ due: true }), 3)
    const told: string[] = []
    const signs = await watchOnce(mine, { unread: (gauge, error) => told.push(`${gauge}: ${error}`) })
    const failed = [
      ...named('UnclaimedOver'),
      ...named('OldestUnclaimed'),
      ...named('OldestWaiting'),
      ...named('QueuesUn'),
    ]
    expect(signs.failed).toEqual(failed)
    expect(signs.gauges).toMatchObject({ GaugeReadFailed: 4, SweepsStale: 0, JobsDueNotPromoted: 3 })
    for (const name of failed) expect(signs.gauges).not.toHaveProperty(name)
    expect(told).toHaveLength(4)
    expect(told[0]).toMatch(/^UnclaimedOverLimit: error: relation "taskq.queues" does not exist/)
  })

  it('is so for want of a right, too', async () => {
    const mine = await own()
    await mine.rows('revoke select on taskq.actors from taskq_maintenance')
    expect((await watchOnce(mine)).failed).toEqual(['JobsStranded'])
  })

  it('is so where its table is locked for longer than it may wait', async () => {
    const mine = await own()
    const holder = await mine.client()
    await holder.query('begin; lock table taskq.sweep_quarantine in access exclusive mode')
    const { failed } = await watchOnce(mine, { settings: { batchLockTimeoutMs: 50 } })
    expect(failed).toEqual(expect.arrayContaining(['RowsQuarantined']))
    expect(failed).not.toContain('SweepsStale')
    await holder.query('rollback')
  })

  it('is so where no time is left for it', async () => {
    let left = 3
    const { failed, gauges } = await watchOnce(database(), {
      remainingMs: () => (left-- > 0 ? 60_000 : 4000),
    })
    expect(failed).toHaveLength(vitalSigns.gauges.length - 3)
    expect(gauges).toHaveProperty('SweepsStale')
  })

  it('throws only where none can be read', async () => {
    const mine = await own()
    await mine.rows('drop schema taskq cascade')
    await expect(watchOnce(mine)).rejects.toMatchObject({ code: '42P01' })
  })
})

describe('the connection', () => {
  /** Kills the session before the reads of these places. */
  const killedBefore = (mine: TestDatabase, ...places: number[]) => {
    let reads = 0
    return async () =>
      watched(await mine.connect(), async step => {
        if (step !== 'run' || !places.includes(++reads)) return
        await mine.rows(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where application_name = 'under-test' and datname = current_database()`,
        )
      })
  }

  it('that was lost is opened anew, once, and no gauge is missing', async () => {
    const signs = await watchOnce(database(), { connect: killedBefore(database(), 4) })
    expect(signs).toMatchObject({ failed: [], gauges: { GaugeReadFailed: 0, RowsQuarantined: 0 } })
  })

  it('that is lost again is thrown', async () => {
    const watching = watchOnce(database(), { connect: killedBefore(database(), 4, 7) })
    await expect(watching).rejects.toThrow()
  })
})

it('a database that becomes another installation’s meanwhile is thrown, and no failed gauge', async () => {
  const mine = await own()
  const [pinned] = await mine.rows<{ id: string }>('select installation_id as id from taskq.installation')
  let opened = 0
  const connect = async () =>
    watched(await mine.connect(), async step => {
      if (step === 'openBatch' && ++opened === 4)
        await mine.rows('update taskq.installation set installation_id = gen_random_uuid()')
    })
  const watching = watchOnce(mine, { connect, settings: { installationId: pinned?.id } })
  await expect(watching).rejects.toMatchObject({ code: 'WRONG_TARGET' })
})

it('another installation’s database is thrown, before anything is read', async () => {
  await insertJobs(database(), pendingJob())
  const settings = { installationId: '00000000-0000-4000-8000-000000000009' }
  await expect(watchOnce(database(), { settings })).rejects.toMatchObject({ code: 'WRONG_TARGET' })
})
