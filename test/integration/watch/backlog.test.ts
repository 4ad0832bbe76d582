import { beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import { endedJob, insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { ago, retriedJob, unclaimedJob, watchOnce } from '../../support/watching.ts'

const database = useDatabase()

beforeEach(() => database().rows('truncate taskq.jobs, taskq.queues, taskq.sweep_quarantine cascade'))

const paused = (name: string) =>
  database().rows(`insert into taskq.queues (name, paused_at) values ('${name}', now())`)

describe('without any job', () => {
  it('no age is read, and no count is more than none', async () => {
    const { gauges, worst } = await watchOnce(database())
    expect(gauges).toMatchObject({ UnclaimedOverLimit: 0, JobsDueNotPromoted: 0 })
    for (const name of ['OldestUnclaimedAgeSeconds', 'OldestWaitingAgeSeconds', 'OldestUnfinishedAgeSeconds'])
      expect(gauges).not.toHaveProperty(name)
    expect(gauges).not.toHaveProperty('OldestDueNotPromotedSeconds')
    expect(worst).toEqual({})
  })

  it('nor is any of jobs that are due later, or never, or have ended', async () => {
    await insertJobs(database(), scheduledJob(), 3)
    await insertJobs(database(), {
      status: `'scheduled'`,
      scheduled_at: `'infinity'`,
      first_due_at: `'infinity'`,
    })
    await insertJobs(database(), {
      ...retriedJob('1 hour'),
      status: `'scheduled'`,
      scheduled_at: `'infinity'`,
      first_due_at: `'infinity'`,
    })
    await insertJobs(database(), { ...endedJob('succeeded'), first_due_at: ago('9 days') })
    const { gauges } = await watchOnce(database())
    expect(Object.keys(gauges).filter(name => name.startsWith('Oldest') && !/Snapshot/.test(name))).toEqual(
      [],
    )
    expect(gauges).toMatchObject({ UnclaimedOverLimit: 0, JobsDueNotPromoted: 0 })
  })
})

describe('a job that nobody has ever claimed', () => {
  it('is over the limit of its queue after a quarter of an hour where the queue has no row', async () => {
    await insertJobs(database(), unclaimedJob('14 minutes', { queue: `'young'` }))
    await insertJobs(database(), unclaimedJob('16 minutes', { queue: `'old'` }), 5)
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['UnclaimedOverLimit']).toBe(1)
    expect(worst['UnclaimedOverLimit']).toEqual([
      { queue: 'old', ageSeconds: expect.any(Number), limitSeconds: 900 },
    ])
    expect(gauges['OldestUnclaimedAgeSeconds']).toBeGreaterThanOrEqual(960)
    expect(worst['OldestUnclaimedAgeSeconds']?.map(({ queue }) => queue)).toEqual(['old', 'young'])
  })

  it('is held to the limit of its queue’s row, and to none while the queue is paused', async () => {
    await database().rows(`insert into taskq.queues (name, max_unclaimed_age, paused_at) values
      ('strict', '1 minute', null), ('patient', '1 day', null), ('paused', '1 minute', now())`)
    for (const [queue, age] of Object.entries({ strict: '3 hours', patient: '2 hours', paused: '4 hours' }))
      await insertJobs(database(), unclaimedJob(age, { queue: `'${queue}'` }))
    const { gauges, worst } = await watchOnce(database())
    expect(worst['UnclaimedOverLimit']?.map(({ queue }) => queue)).toEqual(['strict'])
    expect(worst['OldestUnclaimedAgeSeconds']?.map(({ queue }) => queue)).toEqual(['strict', 'patient'])
    expect(gauges['OldestUnfinishedAgeSeconds'], 'whatever is paused').toBeGreaterThanOrEqual(7200)
  })

  it('is owed while it waits in `scheduled`, too: no snooze resets it', async () => {
    const snoozed = { status: `'scheduled'`, scheduled_at: `statement_timestamp() + interval '1 hour'` }
    await insertJobs(database(), unclaimedJob('1 hour', snoozed))
    expect((await watchOnce(database())).gauges).toMatchObject({ UnclaimedOverLimit: 1 })
  })

  it('is not counted once it was claimed', async () => {
    await insertJobs(database(), retriedJob('2 hours'))
    const { gauges } = await watchOnce(database())
    expect(gauges['UnclaimedOverLimit']).toBe(0)
    expect(gauges).not.toHaveProperty('OldestUnclaimedAgeSeconds')
  })

  it('due since `-infinity` has waited for ten years, and hides no other queue', async () => {
    const always = { scheduled_at: `'-infinity'`, first_due_at: `'-infinity'`, queue: `'always'` }
    await insertJobs(database(), { ...pendingJob(), ...always })
    await insertJobs(database(), unclaimedJob('1 hour'))
    const { gauges, worst, failed } = await watchOnce(database())
    expect(failed).toEqual([])
    expect(gauges['UnclaimedOverLimit']).toBe(2)
    expect(gauges['OldestUnclaimedAgeSeconds']).toBeGreaterThan(9 * 365 * 86_400)
    expect(gauges['OldestUnclaimedAgeSeconds']).toBeLessThan(11 * 365 * 86_400)
    expect(worst['UnclaimedOverLimit']?.map(({ queue }) => queue)).toEqual(['always', 'default'])
  })
})

describe('a job that was claimed before', () => {
  it('waits since it is due again, pending or still scheduled, in queues that are not paused', async () => {
    await paused('paused')
    await insertJobs(
      database(),
      retriedJob('10 minutes', { queue: `'pending'`, first_due_at: ago('3 hours') }),
    )
    await insertJobs(database(), retriedJob('20 minutes', { queue: `'scheduled'`, status: `'scheduled'` }))
    await insertJobs(database(), retriedJob('9 hours', { queue: `'paused'` }))
    const { gauges, worst } = await watchOnce(database())
    expect(worst['OldestWaitingAgeSeconds']?.map(({ queue }) => queue)).toEqual(['scheduled', 'pending'])
    expect(gauges['OldestWaitingAgeSeconds']).toBeGreaterThanOrEqual(1200)
    expect(gauges['OldestWaitingAgeSeconds']).toBeLessThan(9 * 3600)
  })

  it.each([
    ['waits', retriedJob('1 minute', { first_due_at: ago('2 days') })],
    ['runs', { ...lockedJob(), first_due_at: ago('2 days') }],
  ])('is unfinished since it was first due, while it %s', async (_, columns) => {
    await insertJobs(database(), unclaimedJob('1 hour'))
    await insertJobs(database(), { ...lockedJob(), first_due_at: ago('3 hours') }, 3)
    const [id] = await insertJobs(database(), columns)
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['OldestUnfinishedAgeSeconds']).toBeGreaterThanOrEqual(2 * 86_400)
    expect(worst['OldestUnfinishedAgeSeconds']?.[0]).toMatchObject({
      job: id,
      queue: 'default',
      actor: 'test',
    })
  })
})

describe('a job of a schedule', () => {
  it.each(['pending', 'scheduled'])('is unfinished, too, before its first claim: while %s', async status => {
    const schedule = `'0197c6a5-4d1e-7c58-9a3f-6f8f4f2c9d1' || n % 2`
    const columns = { status: `'${status}'`, schedule_id: `(${schedule})::uuid` }
    await insertJobs(database(), unclaimedJob('1 hour'))
    await insertJobs(database(), unclaimedJob('2 hours', columns), 4)
    const queue = { ...columns, queue: `'nightly'` }
    const [id] = await insertJobs(database(), unclaimedJob('3 hours', queue))
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['OldestUnfinishedAgeSeconds']).toBeGreaterThanOrEqual(3 * 3600)
    expect(worst['OldestUnfinishedAgeSeconds']?.[0]).toMatchObject({ job: id, queue: 'nightly' })
    expect(worst['OldestUnfinishedAgeSeconds'], 'one of each queue, and of each schedule in it').toHaveLength(
      4,
    )
  })
})

describe('a due job that is still scheduled', () => {
  it('is counted by queue, with since when the oldest is due', async () => {
    await insertJobs(database(), { ...scheduledJob({ due: true }), queue: `'a'` }, 2)
    await insertJobs(database(), { ...scheduledJob({ due: true }), queue: `'b'` }, 3)
    await insertJobs(database(), scheduledJob(), 5)
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['JobsDueNotPromoted']).toBe(5)
    expect(gauges['OldestDueNotPromotedSeconds']).toBeGreaterThan(3500)
    expect(worst['JobsDueNotPromoted']).toMatchObject([
      { queue: 'b', jobs: 3 },
      { queue: 'a', jobs: 2 },
    ])
  })

  it('is no stalled promotion where it is set aside', async () => {
    const [id] = await insertJobs(database(), scheduledJob({ due: true }))
    await database().rows(
      `insert into taskq.sweep_quarantine (function, row_key, until)
       values ('promotion', $1, now() + interval '5 minutes')`,
      [id],
    )
    const { gauges } = await watchOnce(database())
    expect(gauges).toMatchObject({ JobsDueNotPromoted: 0, RowsQuarantined: 1 })
    expect(gauges).not.toHaveProperty('OldestDueNotPromotedSeconds')
  })

  it('is counted up to 10,000 in each queue', async () => {
    await insertJobs(database(), { ...scheduledJob({ due: true }), queue: `'a'` }, 10_050)
    await insertJobs(database(), { ...scheduledJob({ due: true }), queue: `'b'` }, 7)
    expect((await watchOnce(database())).gauges['JobsDueNotPromoted']).toBe(10_007)
  })
})

it('of many queues the 50 worst are told of', async () => {
  await insertJobs(
    database(),
    unclaimedJob('1 hour', {
      queue: `'q' || lpad(n::text, 3, '0')`,
      first_due_at: `statement_timestamp() - n * interval '1 hour'`,
    }),
    60,
  )
  const { gauges, worst } = await watchOnce(database())
  expect(gauges['UnclaimedOverLimit']).toBe(60)
  expect(worst['UnclaimedOverLimit']).toHaveLength(50)
  expect(worst['UnclaimedOverLimit']?.slice(0, 2)).toMatchObject([{ queue: 'q060' }, { queue: 'q059' }])
})
