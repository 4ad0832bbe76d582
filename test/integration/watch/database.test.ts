import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Connection } from '../../../shared/sql/connection.ts'
import { gaugeArgs } from '../../../shared/sweeper/gauge.ts'
import { oldestSnapshot } from '../../../shared/sweeper/gauges/database.ts'
import { useDatabase } from '../../support/database.ts'
import { makeLogin } from '../../support/logins.ts'
import { statusOnce, watchOnce } from '../../support/watching.ts'

const database = useDatabase()
const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

describe('the feed', () => {
  beforeEach(() => database().rows('truncate taskq.job_events'))

  /** An event of a reclaim, as old as said, by a transaction of its own. */
  const event = (age: string, reason = 'lock_expired') =>
    database().rows(
      `insert into taskq.job_events (job_id, kind, detail, occurred_at)
       values (gen_random_uuid(), 'state_change', '{"reason": "${reason}"}', now() - interval '${age}')`,
    )

  it('has no lag where it can deliver all, or there is nothing to deliver', async () => {
    expect((await watchOnce(database())).gauges).not.toHaveProperty('FeedHorizonLagSeconds')
    await event('1 hour')
    expect((await watchOnce(database())).gauges).not.toHaveProperty('FeedHorizonLagSeconds')
    expect((await statusOnce(database())).feed).toEqual({ horizonLagSeconds: null })
  })

  it('lags by the oldest event of its slice at or above an open writing transaction', async () => {
    await event('2 hours')
    const writer = await database().client()
    await writer.query('begin')
    ends.push(() => writer.query('rollback'))
    await writer.query('create temporary table written ()')
    await event('3 hours', 'succeeded')
    await event('10 minutes')
    await event('20 minutes')
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['FeedHorizonLagSeconds']).toBeGreaterThanOrEqual(1200)
    expect(gauges['FeedHorizonLagSeconds']).toBeLessThan(7200)
    expect(worst['FeedHorizonLagSeconds']).toMatchObject([{ events: 2 }])
    expect((await statusOnce(database())).feed?.horizonLagSeconds).toBeGreaterThanOrEqual(1200)
  })
})

describe('the oldest snapshot', () => {
  /** The gauge that tells of every transaction, since nobody waits five minutes for a test. */
  async function oldest(connection: Connection) {
    const args = { ...gaugeArgs({ functions: [], staleAfterSeconds: [] }), snapshotSeconds: 0 }
    const [reading] = await connection.run(oldestSnapshot.statement, args)
    if (reading === undefined) throw new Error('the gauge returned no row')
    return reading
  }

  /** A session with a snapshot, or with a transaction that writes; its process. */
  async function holder(begin: string): Promise<number> {
    const client = await database().client()
    const { rows } = await client.query('select pg_backend_pid() as pid')
    await client.query(begin)
    ends.push(() => client.query('rollback'))
    return rows[0].pid
  }
  const snapshot = 'begin isolation level repeatable read; select 1 from taskq.jobs'

  it('is 0 where everything is seen and nothing is old', async () => {
    await holder(snapshot)
    expect((await watchOnce(database())).gauges['OldestSnapshotAgeSeconds']).toBe(0)
    expect(await statusOnce(database())).toMatchObject({
      oldestSnapshot: { ageSeconds: 0, holder: null },
      reasons: [],
    })
  })

  it.each([
    ['holds a snapshot', snapshot],
    ['writes', 'begin; create temporary table held ()'],
  ])('is that of the session that %s, the oldest first', async (_, begin) => {
    const pids = [await holder(begin), await holder(begin)]
    const { value, worst } = await oldest(await database().connect())
    // The server is other tests', too, and a writer in any database counts.
    const mine = worst.filter(({ pid }) => pids.includes(Number(pid)))
    expect(mine.map(({ pid }) => pid)).toEqual(pids)
    expect(mine[0]).toMatchObject({ state: 'idle in transaction', database: expect.any(String) })
    expect(value).toBe(worst[0]?.['ageSeconds'])
  })

  it('is not that of a session between two statements, or of who asks', async () => {
    const pid = await holder('begin')
    const connection = await database().connect()
    const [own] = (await connection.script('select pg_backend_pid() as pid')) as { pid: number }[]
    const told = (await oldest(connection)).worst.map(each => each['pid'])
    expect(told.filter(each => each === pid || each === own?.pid)).toEqual([])
  })

  it('is unknown to a login that other logins’ sessions are hidden from, and never 0', async () => {
    const login = await makeLogin(database(), 'in role taskq_maintenance')
    ends.push(() => login.drop())
    const connect = () => login.connect()
    const { gauges, failed } = await watchOnce(database(), { connect })
    expect(failed).toEqual([])
    expect(gauges).not.toHaveProperty('OldestSnapshotAgeSeconds')
    const status = await statusOnce(database(), {}, connect)
    expect(status.oldestSnapshot).toEqual({ ageSeconds: null, holder: null })
    expect(status.reasons).toEqual([expect.stringContaining('hidden')])
    await database().rows(`grant pg_read_all_stats to ${login.name}`)
    expect((await watchOnce(database(), { connect })).gauges['OldestSnapshotAgeSeconds']).toBe(0)
  })
})
