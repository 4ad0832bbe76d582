import { beforeEach, describe, expect, it } from 'vitest'
import { age } from '../../support/aging.ts'
import { useDatabase } from '../../support/database.ts'
import { addSchedule, deliverable, fireOnce } from '../../support/schedules.ts'
import { ago, statusOnce, watchOnce } from '../../support/watching.ts'
import { claimOn, clientOn, closesWorkers, ending, error, settleOn } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()

beforeEach(() =>
  database().rows(`truncate taskq.jobs, taskq.queues, taskq.schedules, taskq.schedule_occurrences,
    taskq.schedule_decisions cascade`),
)

const overLimit = async () => (await watchOnce(database())).gauges['UnclaimedOverLimit']
const claimPost = async () => claimOn(await database().connect(), { actors: ['post'], batch: 1 })
const openJobs = () =>
  database().rows<{ id: string; unclaimed_since: Date | null }>(
    `select id, unclaimed_since from taskq.jobs where status in ('pending', 'scheduled') order by id`,
  )

/** Fires every hour, on the hours since it began, which age with everything else. */
const hourly = (columns = {}) =>
  addSchedule(database(), {
    recurrence: `'every 1h'`,
    start_at: ago('240 hours'),
    next_fire_at: `${ago('240 hours')} + interval '241 hours'`,
    max_unclaimed_age: `interval '3 hours'`,
    ...columns,
  })

/** Fires, and fires again after an hour, so many times. */
async function hours(count: number): Promise<void> {
  for (let hour = 0; hour < count; hour++) {
    await age(database(), '1 hour')
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1 } })
  }
}

describe('a daily post whose consumer is dead', () => {
  const zone = 'Europe/Berlin'
  const yesterday = `date_trunc('day', statement_timestamp() at time zone '${zone}') - interval '1 day'`

  it('is over its limit from the 48th hour on, through every supersede, until one is claimed', async () => {
    const id = await addSchedule(database(), {
      name: `'daily-post'`,
      recurrence: `'0 7 * * *'`,
      timezone: `'${zone}'`,
      max_unclaimed_age: `interval '48 hours'`,
      next_fire_at: `(${yesterday} + interval '7 hours') at time zone '${zone}'`,
    })
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1 } })
    // Three hours ago, whatever the hour is: so that no change of clocks brings a day's look to its limit.
    await database().rows(`update taskq.jobs set unclaimed_since = ${ago('3 hours')}`)
    const seen: (number | undefined)[] = [await overLimit()]
    for (let day = 1; day <= 7; day++) {
      await age(database(), '1 day', zone)
      expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1, superseded: 1 } })
      expect(await openJobs(), 'one, however long nobody comes').toHaveLength(1)
      seen.push(await overLimit())
      expect((await statusOnce(database())).healthy).toBe(day < 2)
    }
    expect(seen).toEqual([0, 0, 1, 1, 1, 1, 1, 1])
    const { worst } = await watchOnce(database())
    expect(worst['UnclaimedOverLimit']).toMatchObject([{ schedule: 'daily-post', limitSeconds: 48 * 3600 }])

    const [open] = await openJobs()
    expect((await claimPost()).jobs).toMatchObject([{ id: open?.id, actor: 'post' }])
    expect(await overLimit()).toBe(0)
    expect(await statusOnce(database())).toMatchObject({ healthy: true, reasons: [] })

    // The claimed one is never finished, and the next is owed since it was due itself.
    await age(database(), '1 day', zone)
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1 } })
    expect(await overLimit()).toBe(0)
    expect(await database().rows('select from taskq.jobs where schedule_id = $1', [id])).toHaveLength(9)
  })

  it('is over it in the minute in which the oldest has waited for 48 hours, and not before', async () => {
    await hourly({ max_unclaimed_age: `interval '48 hours'` })
    await hours(3)
    await database().rows(`update taskq.jobs set unclaimed_since = ${ago('47 hours 59 minutes')}`)
    expect(await overLimit()).toBe(0)
    await age(database(), '1 minute')
    expect(await overLimit()).toBe(1)
  })
})

describe('a job that supersedes others', () => {
  it('waits since the first of them was due, and of several since the earliest', async () => {
    await hourly()
    await hours(3)
    const [kept] = await openJobs()
    const [first] = await database().rows<{ at: Date }>('select min(first_due_at) as at from taskq.jobs')
    expect(kept?.unclaimed_since).toEqual(first?.at)
    await database().rows(
      `update taskq.jobs set status = 'pending', superseded_by = null, finished_at = null,
         unclaimed_since = case when id = $1 then ${ago('5 hours')} else ${ago('9 hours')} end`,
      [kept?.id],
    )
    expect(await openJobs()).toHaveLength(3)
    await age(database(), '1 hour')
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1, superseded: 3 } })
    const { worst } = await watchOnce(database())
    expect(worst['UnclaimedOverLimit']?.[0]?.['ageSeconds']).toBeCloseTo(10 * 3600, -2)
  })

  it('waits since it was due itself where a worker had them all', async () => {
    await hourly()
    await hours(1)
    const { jobs } = await claimPost()
    const [job] = jobs
    if (job === undefined) throw new Error('nothing was claimed')
    await settleOn(await database().connect(), [ending(job, { verb: 'fail', error })])
    await age(database(), '9 hours')
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { superseded: 1 } })
    expect(await overLimit()).toBe(0)
  })
})

describe('what nobody has ever claimed', () => {
  it('is as old after a redrive as before it', async () => {
    await hourly()
    await hours(2)
    await age(database(), '5 hours')
    await database().rows(`update taskq.jobs set status = 'cancelled' where status = 'pending'`)
    expect(await overLimit(), 'what is over is not owed').toBe(0)
    const [newest] = await database().rows<{ id: string }>(
      'select id from taskq.jobs order by first_due_at desc limit 1',
    )
    await (await clientOn(database())).retry(newest?.id ?? '')
    expect(await overLimit()).toBe(1)
    expect(await fireOnce(database()), 'the next one takes it over').toMatchObject({
      byDisposition: { superseded: 1 },
    })
    expect(await overLimit()).toBe(1)
  })

  it('is as old while it is put back to `scheduled`, as a delay or a denial does', async () => {
    await hourly()
    await hours(1)
    await age(database(), '4 hours')
    await database().rows(
      `update taskq.jobs set status = 'scheduled', scheduled_at = now() + interval '1 hour'`,
    )
    expect(await overLimit()).toBe(1)
  })
})

describe('what a worker has had', () => {
  it.each(['release', 'fail'] as const)('is not counted any more, though it ends by %s', async verb => {
    await hourly()
    await hours(1)
    await age(database(), '4 hours')
    expect(await overLimit()).toBe(1)
    const { jobs } = await claimPost()
    const [job] = jobs
    if (job === undefined) throw new Error('nothing was claimed')
    const ends = verb === 'fail' ? { verb, error } : { verb, cause: 'soft_stop' }
    await settleOn(await database().connect(), [ending(job, ends)])
    await age(database(), '9 hours')
    expect(await openJobs()).toMatchObject([{ unclaimed_since: null }])
    const { gauges } = await watchOnce(database())
    expect(gauges).toMatchObject({ UnclaimedOverLimit: 0 })
    expect(gauges['OldestWaitingAgeSeconds'], 'that it waits is told').toBeGreaterThan(8 * 3600)
  })
})

describe('a pile of a deliverable', () => {
  it('counts once, by its oldest, until the whole of it was claimed', async () => {
    await hourly(deliverable)
    await hours(6)
    expect(await overLimit()).toBe(1)
    await claimPost()
    expect(await overLimit(), 'the next one waits for five hours').toBe(1)
    await database().rows(
      `update taskq.jobs set unclaimed_since = null where first_due_at < ${ago('2 hours')}`,
    )
    expect(await overLimit()).toBe(0)
  })

  it('counts for nobody in a queue that is paused, and again when it is not', async () => {
    await hourly(deliverable)
    await hours(5)
    await database().rows(`insert into taskq.queues (name, paused_at) values ('default', now())`)
    expect(await overLimit()).toBe(0)
    await database().rows('update taskq.queues set paused_at = null')
    expect(await overLimit()).toBe(1)
  })

  it('leaves its queue’s own limit alone', async () => {
    await database().rows(`insert into taskq.queues (name, max_unclaimed_age) values ('default', '1 minute')`)
    await hourly({ ...deliverable, max_unclaimed_age: `interval '1 day'` })
    await hours(5)
    expect(await overLimit()).toBe(0)
    expect((await statusOnce(database())).healthy).toBe(true)
  })
})
