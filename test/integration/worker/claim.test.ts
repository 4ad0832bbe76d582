import { beforeEach, describe, expect, it } from 'vitest'
import type { ScriptConnection } from '../../../shared/db/driver-connection.ts'
import { useDatabase } from '../../support/database.ts'
import { insertJobs, type JobColumns, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { claimOn, worker1 } from '../../support/working.ts'

describe('a claim', () => {
  const database = useDatabase()
  let connection: ScriptConnection

  beforeEach(async () => {
    await database().rows('truncate taskq.jobs, taskq.queues, taskq.actors cascade')
    connection = await database().connect()
  })

  const insert = (columns: JobColumns, rows = 1) =>
    insertJobs(database(), { ...pendingJob(), ...columns }, rows)
  const row = async (id: string | undefined) =>
    (
      await database().rows<Record<string, unknown>>(
        'select *, status::text as status from taskq.jobs where id = $1',
        [id],
      )
    )[0]
  const idsOf = (answer: Awaited<ReturnType<typeof claimOn>>) => answer.jobs.map(job => job.id)
  const due = (seconds: number) => `now() - interval '${seconds} seconds'`

  it('takes by priority, then due time, then id', async () => {
    const [c] = await insert({ priority: '0', scheduled_at: due(50) })
    const [a] = await insert({ priority: '5', scheduled_at: due(10) })
    const [b] = await insert({ priority: '0', scheduled_at: due(90) })
    const [d] = await insert({ priority: '-1', scheduled_at: due(99) })
    const same = (await insert({ scheduled_at: `'2001-01-01'` }, 3)).toSorted()
    expect(idsOf(await claimOn(connection))).toEqual([a, ...same, b, c, d])
  })

  it('makes a job its own: started, leased, one attempt and one epoch on, no longer unclaimed', async () => {
    const [id] = await insert({
      attempt: '2',
      claim_epoch: '7',
      heartbeat_timeout: `interval '20 s'`,
      unclaimed_since: 'now()',
    })
    const { jobs, found } = await claimOn(connection, { leaseMs: 45_000 })
    expect(found).toBe('jobs')
    expect(jobs).toMatchObject([{ id, attempt: 3, epoch: 8, queue: 'default', actor: 'test', payload: {} }])
    expect(await row(id)).toMatchObject({
      status: 'running',
      attempt: 3,
      claim_epoch: '8',
      locked_by: worker1.workerId,
      unclaimed_since: null,
    })
    const [spans] = await database().rows(
      `select lock_expires_at - started_at as lease, heartbeat_expires_at - started_at as beat,
         reclaim_at = heartbeat_expires_at as reclaimed_at_beat, last_heartbeat_at = started_at as beaten,
         started_at between now() - interval '1 minute' and clock_timestamp() as now
       from taskq.jobs`,
    )
    expect(spans).toMatchObject({
      lease: { seconds: 45 },
      beat: { seconds: 20 },
      reclaimed_at_beat: true,
      beaten: true,
      now: true,
    })
  })

  it('stamps each job of a batch a microsecond after the one before it (B010)', async () => {
    await insert({}, 5)
    const { jobs } = await claimOn(connection)
    const started = await database().rows<{ id: string }>(
      'select id, started_at from taskq.jobs order by started_at',
    )
    expect(started.map(each => each.id)).toEqual(jobs.map(job => job.id))
    const [span] = await database().rows(
      'select (extract(epoch from max(started_at) - min(started_at)) * 1e6)::int as us from taskq.jobs',
    )
    expect(span).toEqual({ us: 4 })
  })

  it('gives no lease beyond the time that the attempt has', async () => {
    const [id] = await insert({ start_to_close: `interval '3 s'` })
    expect((await claimOn(connection)).jobs).toMatchObject([{ id, startToCloseMs: 3000 }])
    const [left] = await database().rows('select lock_expires_at - started_at as lease from taskq.jobs')
    expect(left).toMatchObject({ lease: { seconds: 3 } })
  })

  it('takes only what is ready: not what is scheduled, running, over or too late', async () => {
    await insert(scheduledJob({ due: true }))
    await insert(lockedJob({ expired: true }))
    await insert({ status: `'failed'` })
    await insert(pendingJob({ overdue: true }))
    const [id] = await insert({ schedule_to_close: `now() + interval '1 hour'` })
    expect(idsOf(await claimOn(connection))).toEqual([id])
    expect(await claimOn(connection)).toEqual({ jobs: [], found: 'empty' })
  })

  it('takes only of its own queues and actors', async () => {
    await insert({ queue: `'other'` })
    await insert({ actor: `'other'` })
    const [id] = await insert({})
    expect(idsOf(await claimOn(connection))).toEqual([id])
  })

  it('shares a batch among the actors that have work', async () => {
    for (const actor of ['a', 'b', 'c']) await insert({ actor: `'${actor}'`, scheduled_at: due(9) }, 20)
    const { jobs } = await claimOn(connection, { actors: ['a', 'b', 'c', 'idle'], batch: 9 })
    const counts = Object.groupBy(jobs, job => job.actor)
    expect(
      Object.entries(counts)
        .map(([actor, own]) => [actor, own?.length])
        .sort(),
    ).toEqual([
      ['a', 3],
      ['b', 3],
      ['c', 3],
    ])
  })

  it('never takes more than the batch, though shares are rounded up', async () => {
    for (const actor of ['a', 'b', 'c']) await insert({ actor: `'${actor}'` }, 5)
    const { jobs } = await claimOn(connection, { actors: ['a', 'b', 'c'], batch: 4 })
    expect(jobs).toHaveLength(4)
    expect(new Set(jobs.map(job => job.actor)).size).toBe(3)
    const [left] = await database().rows(`select count(*)::int as n from taskq.jobs where status = 'pending'`)
    expect(left).toEqual({ n: 11 })
  })

  it('lets the actors take turns where the batch is smaller than their number (B131)', async () => {
    await insert({ actor: `'busy'`, priority: '9', scheduled_at: due(900) }, 50)
    await insert({ actor: `'quiet'` }, 3)
    const taken: (string | undefined)[] = []
    for (let rotation = 0; rotation < 4; rotation++) {
      const { jobs } = await claimOn(connection, { actors: ['busy', 'quiet'], batch: 1, rotation })
      taken.push(jobs[0]?.actor)
    }
    expect(taken.filter(actor => actor === 'quiet')).toHaveLength(2)
  })

  it('passes by paused queues and actors, and tells paused from empty (C24)', async () => {
    await insert({ queue: `'stopped'` })
    await insert({ actor: `'stopped'` })
    await database().rows(`insert into taskq.queues (name, paused_at) values ('stopped', now())`)
    await database().rows(`insert into taskq.actors (actor, paused) values ('stopped', true)`)
    const lanes = { queues: ['stopped', 'default'], actors: ['test', 'stopped'] }
    expect(await claimOn(connection, lanes)).toEqual({ jobs: [], found: 'paused' })
    const [id] = await insert({})
    expect(idsOf(await claimOn(connection, lanes))).toEqual([id])
    await database().rows('update taskq.queues set paused_at = null')
    expect((await claimOn(connection, lanes)).jobs).toHaveLength(1)
  })

  it('slides over rows that others hold, and says so when there is nothing else (B130, C06)', async () => {
    const ids = await insert({}, 25)
    const holder = await database().client()
    await holder.query('begin')
    const text = `select id from taskq.jobs where id = any ($1) order by scheduled_at, id limit 24 for update`
    const held = (await holder.query(text, [ids])).rows.map(each => each.id)
    const answer = await claimOn(connection)
    expect(idsOf(answer)).toEqual(ids.filter(id => !held.includes(id)))
    expect(await claimOn(connection)).toEqual({ jobs: [], found: 'contended' })
    await holder.query('rollback')
    expect((await claimOn(connection)).jobs).toHaveLength(10)
  })

  it('locks no more of a lane than its share', async () => {
    await insert({}, 25)
    const holder = await database().connect()
    await holder.script('begin')
    await claimOn(holder, { batch: 3 })
    const { jobs } = await claimOn(connection, { batch: 100 })
    expect(jobs).toHaveLength(22)
    await holder.rollback()
  })

  it('wide counters do not jam at the end of a smallint (C14, B059)', async () => {
    await insert({ attempt: '32767', uncharged: '32767', claim_epoch: '2147483647' })
    expect((await claimOn(connection)).jobs).toMatchObject([{ attempt: 32_768, epoch: 2_147_483_648 }])
  })

  it('of eight claimers at once takes every job exactly once', async () => {
    await insert({}, 1500)
    await insert({ actor: `'other'` }, 500)
    const claimers = await Promise.all(Array.from({ length: 8 }, () => database().connect()))
    const claimed = await Promise.all(
      claimers.map(async (claimer, number) => {
        const ids: string[] = []
        const workerId = `00000000-0000-4000-8000-0000000000a${number}`
        for (let rotation = 0; ; rotation++) {
          const { jobs, found } = await claimOn(claimer, {
            workerId,
            rotation,
            actors: ['test', 'other'],
            batch: 7,
          })
          ids.push(...jobs.map(job => job.id))
          if (found === 'empty') return ids
        }
      }),
    )
    const all = claimed.flat()
    expect([all.length, new Set(all).size]).toEqual([2000, 2000])
    const [once] = await database().rows(
      `select count(*)::int as n from taskq.jobs
       where status = 'running' and attempt = 1 and claim_epoch = 1`,
    )
    expect(once).toEqual({ n: 2000 })
  })
})
