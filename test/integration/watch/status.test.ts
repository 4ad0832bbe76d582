import { beforeEach, describe, expect, it } from 'vitest'
import type { Status } from '../../../shared/core/status.ts'
import { routines } from '../../../shared/sweeps/index.ts'
import { useDatabase } from '../../support/database.ts'
import { insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { ago, statusOnce, unclaimedJob, watchOnce } from '../../support/watching.ts'

const database = useDatabase()

/** Every function as just installed, and not a job. */
beforeEach(async () => {
  await database().rows('truncate taskq.jobs, taskq.queues, taskq.workers, taskq.sweep_quarantine cascade')
  await database().rows('truncate taskq.sweep_state')
  for (const { purpose } of routines)
    await database().rows('insert into taskq.sweep_state (function) values ($1)', [purpose])
})

const change = (set: string, purpose = 'promotion') =>
  database().rows(`update taskq.sweep_state set ${set} where function = '${purpose}'`)

const functionOf = ({ functions }: Status, name = 'promotion') =>
  functions?.find(each => each.function === name)

describe('an installation that nothing has happened to', () => {
  it('is healthy, and says of each function that none has completed a run', async () => {
    const status = await statusOnce(database())
    expect(status).toMatchObject({
      schema: 'taskq',
      healthy: true,
      degraded: false,
      reasons: [],
      queues: [],
      schedules: [],
      feed: { horizonLagSeconds: null },
      oldestSnapshot: { ageSeconds: 0, holder: null },
      workers: [],
    })
    expect(status.functions?.map(each => each.function)).toEqual(routines.map(({ purpose }) => purpose))
    for (const each of status.functions ?? []) {
      expect(each).toMatchObject({ state: 'no run has completed yet', degraded: false, outcome: null })
      expect([each.lastSuccessAt, each.successAgeSeconds, each.lastError, each.batchSize]).toEqual(
        Array(4).fill(null),
      )
    }
  })

  it('is so however long ago it was installed: nobody may have deployed it', async () => {
    await change(`installed_at = ${ago('9 days')}`)
    expect(functionOf(await statusOnce(database()))).toMatchObject({
      state: 'no run has completed yet',
      degraded: false,
    })
  })
})

describe('a function', () => {
  const ran = `last_started_at = now(), last_success_at = now(), last_outcome = 'drained'`

  it('shows its batches, its runs, its last error and when each was', async () => {
    await change(
      `${ran}, rows_total = 70000, last_rows = 7, batch_size = 25, batch_size_configured = 100,
       last_error = 'it was slow', last_error_at = now(), recent_outcomes = '{drained,aborted}'`,
    )
    expect(functionOf(await statusOnce(database()))).toEqual({
      function: 'promotion',
      state: 'drained',
      degraded: false,
      outcome: 'drained',
      lastStartedAt: expect.any(Date),
      lastSuccessAt: expect.any(Date),
      successAgeSeconds: expect.any(Number),
      lastRows: 7,
      rowsTotal: 70_000,
      batchSize: 25,
      batchSizeConfigured: 100,
      latchedAt: null,
      disabledAt: null,
      quarantined: 0,
      lastError: { message: 'it was slow', at: expect.any(Date) },
      recentOutcomes: ['drained', 'aborted'],
    })
  })

  it.each([
    ['late', `last_success_at = ${ago('10 minutes')}`, /^succeeded last 10 min ago, although it is due/],
    ['never successful', `last_success_at = null, installed_at = ${ago('1 hour')}`, /^has never succeeded/],
    ['latched', `latched_at = now()`, /part of its batch size since its breaker latched/],
  ])('that is %s is degraded, and the queue stays healthy', async (_, set, state) => {
    await change(ran)
    await change(set)
    const status = await statusOnce(database())
    expect(status).toMatchObject({ healthy: true, degraded: true })
    expect(status.reasons).toEqual([expect.stringMatching(/^promotion: /)])
    expect(functionOf(status)).toMatchObject({ degraded: true, state: expect.stringMatching(state) })
  })

  it('with rows set aside is degraded, and says how many', async () => {
    await change(ran)
    await database().rows(`insert into taskq.sweep_quarantine (function, row_key, until)
      values ('promotion', 'a', 'infinity'), ('promotion', 'b', now())`)
    const status = await statusOnce(database())
    expect(status.reasons).toEqual([expect.stringMatching(/^promotion: 2 rows stand aside/)])
    expect(functionOf(status)).toMatchObject({ quarantined: 2, degraded: true })
  })

  it('whose last run aborted says so, and is not degraded by that alone', async () => {
    await change(ran)
    await change(`last_outcome = 'aborted', last_error = 'too slow', last_error_at = now()`)
    expect(functionOf(await statusOnce(database()))).toMatchObject({
      state: 'its last run aborted: too slow',
      degraded: false,
    })
  })

  it('that is switched off says so, by whom, and is not degraded by anything', async () => {
    await change(`latched_at = now(), last_success_at = ${ago('1 day')}, last_outcome = 'drained'`)
    await change(`disabled_at = now(), disabled_by = 'ada'`)
    const status = await statusOnce(database())
    expect(status).toMatchObject({ degraded: false, reasons: [] })
    expect(functionOf(status)).toMatchObject({ state: 'is switched off by ada', degraded: false })
  })

  it('that a setting switches off says so', async () => {
    await change(`last_success_at = ${ago('1 day')}, last_outcome = 'drained'`)
    const status = await statusOnce(database(), { functionsOff: ['promotion'] })
    expect(functionOf(status)).toMatchObject({ state: 'is switched off by a setting', degraded: false })
  })
})

describe('a queue', () => {
  it('shows its open jobs, its oldest unclaimed one with the limit, and its last claim', async () => {
    await database().rows(`insert into taskq.queues (name, last_claim_at, paused_at, max_unclaimed_age) values
      ('idle', now(), null, '1 hour'), ('held', '-infinity', now(), '1 minute')`)
    await insertJobs(database(), unclaimedJob('5 minutes', { queue: `'mail'` }), 2)
    await insertJobs(database(), { ...scheduledJob(), queue: `'mail'` }, 3)
    await insertJobs(database(), { ...lockedJob(), queue: `'mail'` }, 4)
    await insertJobs(database(), unclaimedJob('2 hours', { queue: `'held'` }))
    const status = await statusOnce(database())
    expect(status).toMatchObject({ healthy: true, reasons: [] })
    const none = { pending: 0, scheduled: 0, running: 0 }
    expect(status.queues).toEqual([
      {
        queue: 'held',
        paused: true,
        counts: { ...none, pending: 1 },
        oldestUnclaimedAgeSeconds: expect.any(Number),
        unclaimedLimitSeconds: 60,
        overLimit: false,
        lastClaimAt: null,
      },
      {
        queue: 'idle',
        paused: false,
        counts: none,
        oldestUnclaimedAgeSeconds: null,
        unclaimedLimitSeconds: 3600,
        overLimit: false,
        lastClaimAt: expect.any(Date),
      },
      {
        queue: 'mail',
        paused: false,
        counts: { pending: 2, scheduled: 3, running: 4 },
        oldestUnclaimedAgeSeconds: expect.any(Number),
        unclaimedLimitSeconds: 900,
        overLimit: false,
        lastClaimAt: null,
      },
    ])
  })

  it('whose oldest unclaimed job is over its limit is not healthy, whatever the functions do', async () => {
    await insertJobs(database(), unclaimedJob('20 minutes', { queue: `'mail'` }))
    await insertJobs(database(), pendingJob())
    const status = await statusOnce(database())
    expect(status).toMatchObject({ healthy: false, degraded: false })
    expect(status.reasons).toEqual([
      'queue mail: its oldest unclaimed job is due for 20 min, and may wait 15 min',
    ])
    expect(status.queues?.filter(({ overLimit }) => overLimit).map(({ queue }) => queue)).toEqual(['mail'])
  })
})

it('workers are told of with since when they were seen, dead ones too', async () => {
  await database().rows(`insert into taskq.workers (id, name, kind, last_seen_at) values
    (gen_random_uuid(), 'alive', 'process', now()), (gen_random_uuid(), 'dead', 'lambda', '-infinity')`)
  expect((await statusOnce(database())).workers).toEqual([
    {
      id: expect.any(String),
      name: 'alive',
      hostname: '',
      kind: 'process',
      seenAgeSeconds: expect.any(Number),
    },
    {
      id: expect.any(String),
      name: 'dead',
      hostname: '',
      kind: 'lambda',
      seenAgeSeconds: expect.any(Number),
    },
  ])
})

it('an instant that never was or never comes is told as none, and breaks nothing', async () => {
  await change(`last_outcome = 'drained', last_success_at = 'infinity', latched_at = '-infinity'`)
  await change(`last_success_at = '-infinity', installed_at = '-infinity'`, 'expired_locks')
  const status = await statusOnce(database())
  expect(status.functions).not.toBeNull()
  expect(functionOf(status)).toMatchObject({
    lastSuccessAt: null,
    successAgeSeconds: 0,
    latchedAt: null,
    degraded: true,
  })
  const { failed, gauges } = await watchOnce(database())
  expect({ failed, gauges }).toMatchObject({ failed: [], gauges: { SweepsStale: 1, SweepsDegraded: 1 } })
})
