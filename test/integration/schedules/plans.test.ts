import { beforeAll, describe, expect, it } from 'vitest'
import { cron } from '../../../shared/schedules/cron.ts'
import { readDue, readZonesAhead } from '../../../shared/schedules/tick/due-schedules.ts'
import { fire, type PlannedFire } from '../../../shared/schedules/tick/fire.ts'
import { noteTrouble } from '../../../shared/schedules/tick/trouble.ts'
import { useDatabase } from '../../support/database.ts'
import { planOf, readsOfJobs } from '../../support/plans.ts'
import { addSchedule } from '../../support/schedules.ts'

const database = useDatabase()

/** As many as the plans must not depend on, each with an open instance; the due ones are few. */
const schedules = 100_000

const planned: PlannedFire[] = []

beforeAll(async () => {
  await addSchedule(database())
  await database().rows(
    `insert into taskq.schedules (name, actor, recurrence, shape, missed, on_open, payload, max_unclaimed_age,
       next_fire_at)
     select 'schedule ' || n, 'post', '0 0 * * *', 'intent', 'latest', 'supersede', '{}', '2 days',
       date_trunc('day', now()) + case when n <= 50 then -n else n end * interval '1 minute'
     from generate_series(1, ${schedules}) as n`,
  )
  await database().rows(
    `insert into taskq.jobs (actor, schedule_id, occurrence_due_at)
     select 'post', id, next_fire_at - interval '1 day' from taskq.schedules`,
  )
  const due = await database().rows<{ id: string; cursor: string; job: string }>(
    `select id, next_fire_at::text as cursor, gen_random_uuid() as job from taskq.schedules
     where next_fire_at <= now() order by next_fire_at limit 50`,
  )
  for (const { id, cursor, job } of due) {
    const fires = [{ ordinal: 0, job, due: cursor, at: cursor, shifted: false }]
    const none = {
      missed: 0,
      missedFrom: null,
      missedTo: null,
      shape: 'intent',
      onOpen: 'supersede',
    } as const
    planned.push({ id, revision: 1, cursor, next: null, ...none, fires })
  }
})

const isOfIndex = (scan: string) => scan !== 'Seq Scan'

async function nextPlan(mode: 'custom' | 'generic') {
  if (cron.pulse === null) throw new Error('cron waits for nothing')
  return planOf(database(), cron.pulse.untilNext, { after: '2000-01-01' }, mode)
}

/** The last two serve a singleton's other jobs, whichever is the shorter. */
const allowed = [
  'jobs_claim',
  'jobs_expired_locks',
  'jobs_open_of_schedule',
  'jobs_pkey',
  'jobs_promotion',
  'jobs_promotion_by_queue',
]

describe.each(['without statistics', 'with statistics'])('at depth, %s', statistics => {
  beforeAll(async () => {
    if (statistics === 'with statistics') await database().rows('analyze')
  })

  it.each(['custom', 'generic'] as const)(
    'a tick finds its rows by indexes, in a plan that is %s',
    async mode => {
      const statements = [
        { name: 'read', plan: await planOf(database(), readDue, { except: [], limit: 100 }, mode) },
        { name: 'zones', plan: await planOf(database(), readZonesAhead, {}, mode) },
        { name: 'next', plan: await nextPlan(mode) },
        { name: 'fire', plan: await planOf(database(), fire, { planned }, mode) },
        {
          name: 'trouble',
          plan: await planOf(database(), noteTrouble, { troubles: [], threshold: 3 }, mode),
        },
      ]
      for (const { name, plan } of statements) {
        expect(plan.jit, name).toBeUndefined()
        const reads = plan.nodes.filter(node => node['Relation Name'] === 'schedules')
        const scans = reads.filter(node => node['Node Type'] !== 'ModifyTable').map(node => node['Node Type'])
        expect(
          scans.filter(scan => !isOfIndex(scan)),
          name,
        ).toEqual([])
        const { scans: ofJobs, indexes } = readsOfJobs(plan.nodes)
        expect(
          ofJobs.filter(scan => !isOfIndex(scan)),
          name,
        ).toEqual([])
        expect(
          indexes.filter(index => !allowed.includes(index)),
          name,
        ).toEqual([])
        if (name === 'fire') expect(indexes).toContain('jobs_open_of_schedule')
      }
    },
  )
})
