import { describe, expect, it } from 'vitest'
import { staleBatches } from '../../../shared/sweeps/stale_batches.ts'
import { openDatabase, type TestDatabase, useDatabase } from '../../support/database.ts'
import {
  endedJob,
  insertJobs,
  type JobColumns,
  lockedJob,
  pendingJob,
  scheduledJob,
} from '../../support/jobs.ts'
import { laws } from '../../support/laws/index.ts'
import { type Columns, insertRows } from '../../support/rows.ts'
import { sweepOnce } from '../../support/sweeping.ts'

const sealed = {
  sealed_at: `statement_timestamp() - interval '2 hours'`,
  checked_at: `statement_timestamp() - interval '1 hour' + n * interval '1 millisecond'`,
}
const finalizer = `'{"actor": "report"}'::jsonb`

/** Batches with one member each, all of one kind. */
const withMember =
  (member: JobColumns, columns: Columns = sealed) =>
  async (database: TestDatabase, rows: number) => {
    const fresh = await database.rows<{ id: string }>(
      `select gen_random_uuid() as id from generate_series(1, ${rows})`,
    )
    const ids = `'{${fresh.map(({ id }) => id).join(',')}}'::uuid[]`
    await insertRows(database, 'batches', { ...columns, id: `(${ids})[n]` }, rows)
    await insertJobs(database, { ...member, batch_id: `(${ids})[n]` }, rows)
  }

laws({
  sweep: staleBatches,
  due: [sealed, { ...sealed, finalizer }, withMember(endedJob('succeeded')), withMember(endedJob('crashed'))],
  spared: [
    { ...sealed, sealed_at: 'null' },
    { ...sealed, status: `'complete'` },
    { ...sealed, status: `'aborted'` },
    { ...sealed, checked_at: `now() - interval '30 seconds'` },
    withMember(pendingJob(), { ...sealed, checked_at: 'now()' }),
  ],
  ahead: [pendingJob(), scheduledJob(), lockedJob()].map(member =>
    withMember(member, {
      ...sealed,
      checked_at: `statement_timestamp() - interval '2 hours' + n * interval '1 millisecond'`,
    }),
  ),
  leavesTrace: false,
})

const database = useDatabase()
const sweep = () => sweepOnce(database(), staleBatches)

/** A sealed batch that is due for a look; answers with its id. */
async function batchOf(columns: Columns = {}, members: readonly JobColumns[] = []): Promise<string> {
  const [{ id } = { id: '' }] = await database().rows<{ id: string }>('select gen_random_uuid() as id')
  await insertRows(database(), 'batches', { ...sealed, ...columns, id: `'${id}'` })
  for (const member of members) await insertJobs(database(), { ...member, batch_id: `'${id}'` })
  return id
}

const rowOf = async (id: string) => {
  const [row] = await database().rows<Record<string, unknown>>(
    `select *, completed_at > checked_at - interval '1 second' as is_stamped,
       checked_at > clock_timestamp() - interval '30 seconds' as is_checked
     from taskq.batches where id = $1`,
    [id],
  )
  return row ?? {}
}
const jobOf = async (id: unknown) => {
  const [job] = await database().rows<Record<string, unknown>>(
    `select j.*, j.status::text as status, retry_base::text as base,
       unclaimed_since = first_due_at as is_waiting
     from taskq.jobs j where id = $1`,
    [id],
  )
  return job
}

describe('a sealed batch', () => {
  it('is complete when no member is open, and says when (B108)', async () => {
    const id = await batchOf({}, [endedJob('succeeded'), endedJob('failed')])
    expect(await sweep()).toMatchObject({ rows: 1, byDisposition: { completed: 1 }, byActor: {} })
    expect(await rowOf(id)).toMatchObject({ status: 'complete', is_stamped: true, finalizer_job_id: null })
  })

  it.each([
    ['ready', pendingJob()],
    ['due later', scheduledJob()],
    ['running', lockedJob()],
  ])(
    'with a member that is %s stays open, is marked as looked at, and is complete later',
    async (_, member) => {
      const id = await batchOf({ finalizer }, [endedJob('succeeded'), member])
      expect(await sweep()).toMatchObject({ rows: 0 })
      const open = { status: 'active', completed_at: null, finalizer_job_id: null, is_checked: true }
      expect(await rowOf(id)).toMatchObject(open)
      await database().rows(`update taskq.jobs set status = 'succeeded' where batch_id = $1`, [id])
      expect(await sweep()).toMatchObject({ rows: 0 })
      await database().rows(`update taskq.batches set checked_at = now() - interval '61 seconds'`)
      expect(await sweep()).toMatchObject({ rows: 1 })
      expect(await rowOf(id)).toMatchObject({ status: 'complete' })
    },
  )
})

it('counts ahead what it would complete, and not what it would look at', async () => {
  const own = await openDatabase()
  await withMember(pendingJob())(own, 30)
  await withMember(endedJob('succeeded'))(own, 1)
  await insertRows(own, 'batches', sealed)
  const dry = await sweepOnce(own, staleBatches, { request: { dryRun: true } })
  expect(dry).toMatchObject({ eligible: 2 })
  await own.close()
})

describe('its finalizer', () => {
  it('is enqueued once, ready, by the policy of its actor, and is no member (B109)', async () => {
    await database().rows(`insert into taskq.actors
      (actor, queue, max_attempts, retry_kind, retry_backoff, retry_base, retry_cap, retry_jitter)
      values ('report', 'reports', 9, 'indefinite', 'fixed', '7 seconds', '9 minutes', 0.5)`)
    const id = await batchOf({ finalizer })
    await sweep()
    const { finalizer_job_id: jobId } = await rowOf(id)
    expect(await jobOf(jobId)).toMatchObject({
      actor: 'report',
      queue: 'reports',
      status: 'pending',
      payload: { batchId: id },
      priority: 0,
      batch_id: null,
      is_waiting: true,
      max_attempts: 9,
      retry_kind: 'indefinite',
      retry_backoff: 'fixed',
      base: '00:00:07',
      retry_jitter: 0.5,
    })
    await database().rows(`update taskq.batches set checked_at = now() - interval '1 hour'`)
    expect(await sweep()).toMatchObject({ rows: 0 })
    const jobs = await database().rows(`select from taskq.jobs where payload->>'batchId' = $1`, [id])
    expect(jobs).toHaveLength(1)
  })

  it('has the defaults of the table where its actor has no row, and what it asks for', async () => {
    const asked = `'{"actor": "unknown", "queue": "end", "payload": {"of": 1}, "priority": 7}'::jsonb`
    const [own, bare] = [
      await batchOf({ finalizer: asked }),
      await batchOf({ finalizer: `'{"actor": "x", "payload": null}'::jsonb` }),
    ]
    await sweep()
    const wanted = { queue: 'end', payload: { of: 1 }, priority: 7, max_attempts: 5, retry_kind: 'transient' }
    expect(await jobOf((await rowOf(own))['finalizer_job_id'])).toMatchObject(wanted)
    const defaults = { queue: 'default', payload: null, priority: 0, base: '00:00:02' }
    expect(await jobOf((await rowOf(bare))['finalizer_job_id'])).toMatchObject(defaults)
  })

  it.each([
    ['1 day', '24:00:00'],
    ['1 month', '720:00:00'],
    ['-1 second', '00:00:00'],
    ['178000000 years', '277777:46:40'],
  ])('waits by the seconds of its actor, who may have %s', async (given, base) => {
    await database().rows(
      `insert into taskq.actors (actor, retry_base, retry_cap) values ($1, $2::interval, $2::interval)`,
      [given, given],
    )
    const id = await batchOf({ finalizer: `'{"actor": "${given}"}'::jsonb` })
    expect(await sweep()).toMatchObject({ rows: 1 })
    expect(await jobOf((await rowOf(id))['finalizer_job_id'])).toMatchObject({ base })
  })

  it('that was enqueued already is not enqueued again', async () => {
    const [jobId = ''] = await insertJobs(database(), { ...pendingJob(), actor: `'was-first'` })
    const id = await batchOf({ finalizer: `'{"actor": "was-first"}'::jsonb`, finalizer_job_id: `'${jobId}'` })
    expect(await sweep()).toMatchObject({ rows: 1 })
    expect(await rowOf(id)).toMatchObject({ status: 'complete', finalizer_job_id: jobId })
    expect(await database().rows(`select from taskq.jobs where actor = 'was-first'`)).toHaveLength(1)
  })

  it.each([
    '{}',
    '[]',
    '{"actor": 7}',
    '{"actor": ""}',
    '{"actor": null}',
    '{"actor": "a", "queue": 7}',
    '{"actor": "a", "queue": ""}',
    '{"actor": "a", "priority": "high"}',
    '{"actor": "a", "priority": 1.5}',
    '{"actor": "a", "priority": 99999999999}',
  ])('is refused where it is written, if no job can be made of it: %s', async value => {
    await expect(batchOf({ finalizer: `'${value}'::jsonb` })).rejects.toMatchObject({
      code: expect.stringMatching(/^(22|23)/),
    })
  })

  it('is enqueued once, however many look at once without the lock of the function', async () => {
    const own = await openDatabase()
    await insertRows(own, 'batches', { ...sealed, finalizer }, 40)
    const batch = staleBatches.arms[0]?.batch
    const args = {
      limit: 40,
      floorAt: '-infinity',
      floorId: '00000000-0000-0000-0000-000000000000',
      only: null,
    }
    const looks = Array.from({ length: 8 }, async () => {
      const connection = await own.connect()
      const [look] = batch === undefined ? [] : await connection.run(batch, args)
      return look?.acted ?? 0
    })
    const acted = (await Promise.all(looks)).reduce((sum, each) => sum + each, 0)
    expect(acted).toBe(40)
    const [found] = await own.rows(`select count(*)::int as jobs, count(distinct b.id)::int as batches
      from taskq.jobs j join taskq.batches b on b.finalizer_job_id = j.id`)
    expect(found).toEqual({ jobs: 40, batches: 40 })
    expect(await own.rows('select from taskq.jobs')).toHaveLength(40)
    await own.close()
  })
})
