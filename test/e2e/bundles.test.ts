import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { routines } from '../../shared/sweeps/index.ts'
import { useDatabase } from '../support/database.ts'
import { type Deployment, runDeployment } from '../support/deployment.ts'
import { endedJob, insertJobs, lockedJob, pendingJob, scheduledJob } from '../support/jobs.ts'
import { insertRows } from '../support/rows.ts'
import { addSchedule, deliverable, midnight } from '../support/schedules.ts'
import { synthesized } from '../support/synthesis.ts'

const database = useDatabase()
let deployment: Deployment
let cold: () => Promise<Deployment>
const running: Deployment[] = []

beforeAll(async () => {
  // As a user finds it: a database without a schema, and a secret that names it.
  await database().rows('drop schema taskq cascade')
  const stack = await synthesized()
  cold = async () => {
    const started = await runDeployment(stack, JSON.stringify({ url: database().url }))
    running.push(started)
    return started
  }
  deployment = await cold()
  await deployment.deploy()
})
afterAll(() => Promise.all(running.map(each => each.stop())))
beforeEach(async () => {
  await database().rows('truncate taskq.jobs, taskq.job_attempts, taskq.job_events')
})

const countByStatus = async () => {
  const rows = await database().rows<{ status: string; jobs: number }>(
    'select status::text, count(*)::int as jobs from taskq.jobs group by status',
  )
  return Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]))
}

/** Everything that the functions could write, to the byte. */
const everything = () =>
  database().rows(`select
    (select jsonb_agg(j order by id) from taskq.jobs j) as jobs,
    (select jsonb_agg(s order by function) from taskq.sweep_state s) as states,
    (select jsonb_agg(s order by id) from taskq.schedules s) as schedules,
    (select count(*) from taskq.job_events) as events, (select count(*) from taskq.job_attempts) as attempts`)

/** What happens while the database is another one than the stack's, as after a restore. */
async function inAnotherInstallation<T>(happens: () => Promise<T>): Promise<T> {
  const change = 'update taskq.installation set installation_id ='
  const [pinned] = await database().rows('select installation_id as id from taskq.installation')
  await database().rows(`${change} gen_random_uuid()`)
  try {
    return await happens()
  } finally {
    await database().rows(`${change} $1`, [pinned?.['id']])
  }
}

describe('a deployment', () => {
  test('makes the schema, pins the installation and gives each function its state', async () => {
    const pinned = await database().rows(
      'select installation_id, environment, deployment_id from taskq.installation',
    )
    expect(pinned).toEqual([
      {
        installation_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        environment: 'TaskQ',
        deployment_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      },
    ])
    const states = await database().rows<{ function: string }>(
      'select function from taskq.sweep_state order by 1',
    )
    expect(states.map(state => state.function)).toEqual(routines.map(({ purpose }) => purpose).sort())
  })

  test('may be done again', async () => {
    await deployment.deploy()
    expect(await deployment.invoke('migrate', {})).toMatchObject({ schema: 'taskq', applied: [] })
  })
})

describe('an event of its rule', () => {
  test('makes promotion promote what is due, and that alone', async () => {
    await insertJobs(database(), scheduledJob({ due: true }), 250)
    await insertJobs(database(), scheduledJob(), 3)
    expect(await deployment.start('promotion')).toMatchObject({
      function: 'promotion',
      schema: 'taskq',
      trigger: 'schedule',
      outcome: 'drained',
      rows: 250,
      byDisposition: { promoted: 250 },
      batchSize: 100,
      remaining: 0,
    })
    expect(await countByStatus()).toEqual({ pending: 250, scheduled: 3 })
  })

  test('makes promotion stay for what falls due in its window', async () => {
    await insertJobs(database(), { ...scheduledJob(), scheduled_at: `clock_timestamp() + interval '700 ms'` })
    expect(await deployment.start('promotion')).toMatchObject({ outcome: 'drained', pulses: 2, rows: 1 })
    expect(await countByStatus()).toEqual({ pending: 1 })
  })

  test('makes expired_locks take jobs back', async () => {
    await insertJobs(database(), lockedJob({ expired: true }), 150)
    await insertJobs(database(), { ...lockedJob({ expired: true }), max_attempts: '1' }, 5)
    await insertJobs(database(), { ...lockedJob({ expired: true }), cancel_requested_at: 'now()' }, 2)
    await insertJobs(database(), lockedJob(), 4)
    const byDisposition = { repended: 150, crashed: 5, cancelled: 2 }
    expect(await deployment.start('expired_locks')).toMatchObject({
      outcome: 'drained',
      rows: 157,
      byDisposition,
    })
    expect(await countByStatus()).toEqual({ scheduled: 150, crashed: 5, cancelled: 2, running: 4 })
  })

  test('makes deadline_exceeded fail what was not started in time', async () => {
    await insertJobs(database(), pendingJob({ overdue: true }), 3)
    await insertJobs(database(), pendingJob(), 2)
    const byDisposition = { failed: 3 }
    expect(await deployment.start('deadline_exceeded')).toMatchObject({
      outcome: 'drained',
      rows: 3,
      byDisposition,
    })
    expect(await countByStatus()).toEqual({ failed: 3, pending: 2 })
  })
})

test('makes cron fire what is due, and stay for what falls due in its window', async () => {
  await addSchedule(database(), { next_fire_at: midnight(3) })
  await addSchedule(database(), { next_fire_at: midnight(3), ...deliverable })
  const soon = `date_trunc('second', clock_timestamp() + interval '2 seconds')`
  await addSchedule(database(), { recurrence: `'every 1h'`, start_at: soon, next_fire_at: soon })
  expect(await deployment.start('cron')).toMatchObject({
    outcome: 'drained',
    pulses: 2,
    byDisposition: { fired: 6 },
  })
  expect(await countByStatus()).toEqual({ pending: 6 })
})

describe('what a function prints', () => {
  const linesOf = async (functions: Deployment, count: number) =>
    (await functions.printed(count)).map(line => JSON.parse(line))

  test('is one line of metrics and one of its result, each a JSON of its own', async () => {
    const functions = await cold()
    await insertJobs(database(), { ...lockedJob({ expired: true }), max_attempts: '1' }, 2)
    const result = await functions.start('expired_locks')
    const [metrics, told, ...more] = await linesOf(functions, 2)
    expect(more).toEqual([])
    expect(metrics).toMatchObject({ Schema: 'taskq', JobsCrashed: 2 })
    expect(metrics._aws.CloudWatchMetrics).toEqual([
      { Namespace: 'TaskQ', Dimensions: [['Schema']], Metrics: [{ Name: 'JobsCrashed', Unit: 'Count' }] },
    ])
    expect(told).toMatchObject({ level: 'INFO', message: 'expired_locks drained', ...(result as object) })
  })

  test('is its result alone when there was nothing to do, and by hand who asked and why', async () => {
    const functions = await cold()
    const asked = { requestedBy: 'ada', reason: 'a look' }
    await functions.start('deadline_exceeded')
    await functions.invoke('deadline_exceeded', { trigger: 'manual', ...asked })
    const message = 'deadline_exceeded drained'
    expect(await linesOf(functions, 2)).toMatchObject([{ message }, { message, ...asked }])
  })

  test('is a metric of the wrong target, when it is thrown', async () => {
    const functions = await cold()
    await inAnotherInstallation(() => functions.failureOf(functions.start('promotion')))
    expect(await linesOf(functions, 1)).toMatchObject([{ Schema: 'taskq', WrongTarget: 1 }])
  })
})

describe('nothing is written', () => {
  beforeEach(async () => {
    await insertJobs(database(), scheduledJob({ due: true }), 5)
    await insertJobs(database(), lockedJob({ expired: true }), 5)
    await insertJobs(database(), pendingJob({ overdue: true }), 5)
    await database().rows('truncate taskq.workers, taskq.batches, taskq.reservation_slots, taskq.schedules')
    for (let n = 0; n < 5; n++) await addSchedule(database())
    const past = `now() - interval '1 day'`
    const over = { ...endedJob('succeeded'), result: `'1'`, result_expires_at: past }
    await insertJobs(database(), over, 5)
    const ids = { id: 'gen_random_uuid()', name: `'gone'` }
    await insertRows(database(), 'workers', { ...ids, last_seen_at: past }, 5)
    await insertRows(database(), 'batches', { sealed_at: past, checked_at: past }, 5)
    const slot = { bucket: `'b' || n`, slot: '0', last_used_at: past }
    await insertRows(database(), 'reservation_slots', { ...slot, lease_expires_at: past }, 5)
    await insertRows(database(), 'reservation_slots', { ...slot, bucket: `'k' || n`, keyed: 'true' }, 5)
  })

  test.each(routines.map(({ purpose }) => purpose))('by a wrong event to %s', async purpose => {
    const before = await everything()
    const asked = deployment.invoke(purpose, {
      trigger: 'manual',
      requestedBy: 'ada',
      reason: 'x',
      batchSize: 0,
    })
    expect(await deployment.failureOf(asked)).toMatchObject({
      errorType: 'EVENT_INVALID',
      code: 'EVENT_INVALID',
      errorMessage: 'batchSize: is not a whole number 1..10000',
    })
    expect(await everything()).toEqual(before)
  })

  test.each(routines.map(({ purpose }) => purpose))(
    'by the smoke event of a deployment to %s',
    async purpose => {
      const before = await everything()
      expect(await deployment.invoke(purpose, { trigger: 'smoke' })).toMatchObject({
        trigger: 'smoke',
        rows: 0,
      })
      expect(await everything()).toEqual(before)
    },
  )

  test.each(routines.map(({ purpose }) => purpose))('by a dry run of %s, which counts', async purpose => {
    const before = await everything()
    const asked = { trigger: 'manual', requestedBy: 'ada', reason: 'x', dryRun: true }
    expect(await deployment.invoke(purpose, asked)).toMatchObject({ dryRun: true, eligible: 5 })
    expect(await everything()).toEqual(before)
  })

  test.each(routines.map(({ purpose }) => purpose))('by %s into another installation', async purpose => {
    const before = await everything()
    const failure = await inAnotherInstallation(() => deployment.failureOf(deployment.start(purpose)))
    expect(failure).toMatchObject({ errorType: 'WRONG_TARGET', code: 'WRONG_TARGET' })
    expect(await everything()).toEqual(before)
  })
})
