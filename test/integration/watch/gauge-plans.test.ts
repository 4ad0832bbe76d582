import { beforeAll, describe, expect, it } from 'vitest'
import { bind, render } from '../../../shared/sql/statement.ts'
import { gaugeArgs } from '../../../shared/sweeper/gauge.ts'
import { gauges } from '../../../shared/sweeper/gauges/index.ts'
import { readOpening } from '../../../shared/sweeper/reader.ts'
import { readQueues, readSchedules } from '../../../shared/sweeper/status/statements.ts'
import { type TestDatabase, useDatabase } from '../../support/database.ts'
import { endedJob, insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { nodesOf, type PlanNode, readsOfJobs } from '../../support/plans.ts'
import { insertRows } from '../../support/rows.ts'
import { scheduleOf } from '../../support/schedules.ts'
import { settingsWith } from '../../support/sweeping.ts'
import { retriedJob } from '../../support/watching.ts'

/** By which indexes each statement reads the jobs; what is not named here does not read them. */
const indexes: Readonly<Record<string, readonly string[]>> = {
  'gauge-unclaimed-over-limit': ['jobs_unclaimed', 'jobs_unclaimed_by_schedule'],
  'gauge-oldest-unclaimed': ['jobs_unclaimed', 'jobs_unclaimed_by_schedule'],
  'gauge-oldest-waiting': ['jobs_waiting'],
  'gauge-oldest-unfinished': [
    'jobs_expired_locks',
    'jobs_unclaimed',
    'jobs_unclaimed_by_schedule',
    'jobs_unfinished',
  ],
  'gauge-due-not-promoted': ['jobs_promotion_by_queue'],
  'gauge-oldest-due-not-promoted': ['jobs_promotion_by_queue'],
  'gauge-running-lease-expired': ['jobs_expired_locks'],
  'gauge-queues-unserved': ['jobs_claim', 'jobs_promotion_by_queue'],
  'gauge-jobs-stranded': ['jobs_claim'],
  'status-queues': [
    'jobs_claim',
    'jobs_expired_locks',
    'jobs_promotion_by_queue',
    'jobs_unclaimed',
    'jobs_unclaimed_by_schedule',
  ],
  'status-schedules': ['jobs_unclaimed', 'jobs_unclaimed_by_schedule'],
}

const args = gaugeArgs({ functions: ['promotion'], staleAfterSeconds: [180] })
const statements = [...gauges.map(({ statement }) => statement), readQueues, readSchedules] as const

/** The plan of a statement inside a transaction that is opened as a reader opens it. */
async function explain(database: TestDatabase, { fragment }: (typeof statements)[number], mode: string) {
  const connection = await database.connect()
  const { text, parameters } = render<never>(fragment, 'taskq')
  const literals = bind(parameters, args).map(literal)
  await connection.openBatch(readOpening({ settings: settingsWith(), statementTimeoutMs: 60_000 }, 'reader'))
  await connection.script(`set local plan_cache_mode = force_${mode}_plan; prepare deployed as ${text}`)
  const [row] = await connection.script(`explain (format json) execute deployed(${literals.join(', ')})`)
  // It would stay in the session, which behind a pooler is the next client's.
  await connection.script('deallocate deployed')
  await connection.rollback()
  const [explained] = (row as { 'QUERY PLAN': { Plan: PlanNode; JIT?: unknown }[] })['QUERY PLAN']
  return { nodes: nodesOf(explained?.Plan ?? { 'Node Type': 'none' }), jit: explained?.JIT }
}

const literal = (value: unknown) => (Array.isArray(value) ? `'{${value.join(',')}}'` : String(value))

describe.each([
  ['over 100,000 jobs of every kind', 'analyze'],
  ['over as many that nobody has analyzed, as after a restore', ''],
])('%s', (_, analyze) => {
  const database = useDatabase()
  const queue = `'q' || n % 3`
  const schedule = `('00000000-0000-4000-8000-00000000000' || n % 3)::uuid`

  beforeAll(async () => {
    await database().rows('alter table taskq.jobs set (autovacuum_enabled = off)')
    await insertJobs(database(), { ...pendingJob(), queue }, 30_000)
    await insertJobs(database(), { ...pendingJob(), queue, actor: `'other'`, priority: 'n % 10' }, 10_000)
    await insertJobs(database(), { ...scheduledJob(), queue }, 15_000)
    await insertJobs(database(), { ...pendingJob(), queue, schedule_id: schedule }, 5000)
    await insertJobs(database(), { ...retriedJob('1 hour'), queue, status: `'scheduled'` }, 10_000)
    await insertJobs(database(), { ...retriedJob('1 hour'), queue }, 5000)
    await insertJobs(database(), { ...endedJob('succeeded'), queue }, 20_000)
    await insertJobs(database(), { ...lockedJob(), queue }, 5000)
    await database().rows(
      `insert into taskq.job_events (job_id, kind, detail)
       select id, 'state_change',
         jsonb_build_object('reason', case when attempt = 0 then 'enqueued' else 'lock_expired' end)
       from taskq.jobs`,
    )
    await insertRows(database(), 'schedules', { ...scheduleOf, name: `'s' || n` }, 3000)
    await database().rows(analyze)
  })

  describe.each(['custom', 'generic'] as const)('as a %s plan', mode => {
    it.each(statements.map(statement => [statement.name, statement] as const))(
      '%s walks its own indexes and no others, and reads no table as a whole',
      async (name, statement) => {
        const { nodes, jit } = await explain(database(), statement, mode)
        const { scans, indexes: used } = readsOfJobs(nodes)
        expect(used).toEqual(indexes[name] ?? [])
        expect(scans.filter(scan => !/^Index (Only )?Scan$/.test(scan))).toEqual([])
        expect(jit).toBeUndefined()
      },
    )

    it('the horizon of the feed is found by the feed’s own index', async () => {
      const statement = statements.find(each => each.name === 'gauge-feed-horizon-lag') ?? readQueues
      const { nodes } = await explain(database(), statement, mode)
      const events = nodes.filter(node => node['Relation Name'] === 'job_events')
      expect(events).toMatchObject([{ 'Index Name': 'job_events_feed', 'Index Cond': expect.any(String) }])
    })

    it('what schedules owe is found by all of their index, and no row is read to be left out', async () => {
      for (const name of ['gauge-unclaimed-over-limit', 'gauge-oldest-unfinished', 'status-schedules']) {
        const { nodes } = await explain(database(), statements.find(s => s.name === name) ?? readQueues, mode)
        const walks = nodes.filter(node => node['Index Name'] === 'jobs_unclaimed_by_schedule')
        expect(walks).toHaveLength(3)
        expect(walks.filter(({ Filter }) => Filter !== undefined)).toEqual([])
      }
    })

    it('what strikes have switched off is found by its own index, and nothing else is read', async () => {
      const statement = statements.find(each => each.name === 'gauge-schedules-disabled') ?? readQueues
      const { nodes } = await explain(database(), statement, mode)
      const schedules = nodes.filter(node => node['Relation Name'] === 'schedules')
      expect(schedules).toMatchObject([{ 'Index Name': 'schedules_disabled' }])
    })
  })
})
