import { expect, it } from 'vitest'
import { smearPartMs } from '../../../shared/schedules/firing.ts'
import { dailyDeliverable, dailyIntent, useSchedules } from '../../support/schedule-verbs.ts'
import { addSchedule, brokenFacts, deliverable, fireOnce, midnight } from '../../support/schedules.ts'

const { database, schedules, rowOf, owingSince, decisions } = useSchedules()

const jobsOf = (name = 'daily') =>
  database().rows<{ status: string; due: Date; owed: boolean; at: Date }>(
    `select j.status::text, occurrence_due_at as due, j.metadata ? 'deliverable' as owed, scheduled_at as at
     from taskq.jobs j join taskq.schedules s on s.id = j.schedule_id
     where s.name = $1 order by occurrence_due_at, j.created_at`,
    [name],
  )

const midnights = async (...daysAgo: number[]) => {
  const rows = await database().rows<{ at: Date }>(
    daysAgo.map((days, place) => `select ${place} as place, ${midnight(days)} as at`).join(' union all ') +
      ' order by place',
  )
  return rows.map(({ at }) => at)
}

it('what a deliverable owed is fired whole after it became an intent, and stays', async () => {
  const taskq = await schedules()
  await taskq.create(dailyDeliverable)
  await owingSince(midnight(5))
  // One that was fired before, and is open still.
  await fireOnce(database(), { settings: { cronMaxCatchUp: 1 }, request: { maxBatches: 1 } })
  await taskq.edit('daily', { intent: dailyIntent.intent }, { reason: 'only the newest matters now' })
  expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 5 } })
  const jobs = await jobsOf()
  expect(jobs.map(({ due }) => due)).toEqual(await midnights(5, 4, 3, 2, 1, 0))
  expect(jobs.map(({ status, owed }) => [status, owed])).toEqual(
    Array.from({ length: 6 }, () => ['pending', true]),
  )
  // The next instance is the intent's: it has nothing to supersede, and is not owed.
  await database().rows(`update taskq.schedules set next_fire_at = next_fire_at - interval '1 day',
    revised_at = revised_at - interval '2 days'`)
  await database().rows(`update taskq.schedule_occurrences set due_at = due_at - interval '100 years'`)
  expect((await fireOnce(database())).byDisposition).toEqual({ fired: 1 })
  expect((await jobsOf()).filter(({ owed }) => !owed)).toMatchObject([{ status: 'pending' }])
})

it('what an intent owed fires by its own answers after it became a deliverable', async () => {
  const taskq = await schedules()
  await taskq.create(dailyIntent)
  await owingSince(midnight(5))
  await taskq.edit('daily', { deliverable: {} })
  expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1 } })
  expect((await jobsOf()).map(({ due, owed }) => [due, owed])).toEqual([[...(await midnights(0)), false]])
  expect((await decisions()).at(-1)).toMatchObject({ action: 'fire', stands: true })
})

it('what a smear lets fire later is owed through an edit of the smear, minute by minute', async () => {
  const taskq = await schedules({ cronMaxCatchUp: 100 })
  const minuteMs = 60_000
  let partMs = 0
  while (partMs < 3 * minuteMs) {
    await database().rows('truncate taskq.schedules')
    await taskq.create({ ...dailyDeliverable, cron: '* * * * *', smear: '10m' })
    partMs = smearPartMs(String((await rowOf())['id']), 10 * minuteMs)
  }
  // As one that stands for a year and has fired all that was due.
  const aYear = `interval '1 year'`
  await database().rows(`update taskq.schedules set revised_at = revised_at - ${aYear},
    next_fire_at = date_trunc('minute', now()) + interval '1 minute'
      + make_interval(secs => ${(partMs % minuteMs) / 1000})`)
  await database().rows(`update taskq.schedule_revisions set revised_at = revised_at - ${aYear}`)
  const [clock] = await database().rows<{ nowMs: number }>(
    'select extract(epoch from now())::float8 * 1000 as "nowMs"',
  )
  const nowMs = clock?.nowMs ?? 0
  await taskq.edit('daily', { smear: '0' })
  const { decisions: plans } = await taskq.simulate('daily', { until: new Date(nowMs + 20 * minuteMs) })
  const due = plans.flatMap(({ fires }) => fires.map(each => each.getTime())).sort((a, b) => a - b)
  // From the first that had not fired, which is minutes ago, without a gap and none twice.
  const first = due[0] ?? 0
  expect(nowMs - first).toBeGreaterThan(minuteMs)
  expect(due).toEqual(due.map((_, n) => first + n * minuteMs))
  expect(due.at(-1)).toBeGreaterThan(nowMs + 18 * minuteMs)
})

it('what has still to fire from before an edit of the smear comes first', async () => {
  const taskq = await schedules()
  const hourMs = 3_600_000
  const [clock] = await database().rows<{ at: Date }>(`select date_trunc('second', now()) as at`)
  const startAt = new Date((clock?.at.getTime() ?? 0) - 12 * hourMs)
  const { cron, ...daily } = dailyDeliverable
  let partMs = 0
  while (partMs < 13 * hourMs || partMs > 23 * hourMs) {
    await database().rows('truncate taskq.schedules')
    await taskq.create({ ...daily, every: '1d', startAt, smear: '1d' })
    partMs = smearPartMs(String((await rowOf())['id']), 24 * hourMs)
  }
  // Of twelve hours ago, and due in an hour or more; the next by the new definition is due in twelve.
  const fires = new Date(startAt.getTime() + partMs)
  await database().rows(
    `update taskq.schedules set next_fire_at = $1, revised_at = revised_at - interval '1 year'`,
    [fires],
  )
  await database().rows(`update taskq.schedule_revisions set revised_at = revised_at - interval '1 year'`)
  expect(await taskq.edit('daily', { smear: '0' })).toMatchObject({ nextAt: fires })
})

it('a row that was made by hand, with no revision, loses nothing by an edit', async () => {
  await addSchedule(database(), {
    name: `'by hand'`,
    ...deliverable,
    next_fire_at: midnight(9),
    revised_at: 'statement_timestamp()',
  })
  const taskq = await schedules()
  await taskq.edit('by hand', { payload: { n: 2 } })
  await taskq.edit('by hand', { cron: '0 12 * * *' })
  await fireOnce(database())
  expect((await jobsOf('by hand')).map(({ due }) => due)).toEqual(
    await midnights(9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
  )
  expect(await brokenFacts(database())).toEqual([])
})
