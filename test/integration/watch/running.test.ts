import { beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import { insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { ago, unclaimedJob, watchOnce } from '../../support/watching.ts'

const database = useDatabase()

beforeEach(() =>
  database().rows('truncate taskq.jobs, taskq.queues, taskq.actors, taskq.sweep_quarantine cascade'),
)

describe('running jobs whose lease is over', () => {
  const since = (interval: string) => ({ ...lockedJob(), lock_expires_at: ago(interval) })

  it('count after three minutes, by lease or by heartbeat, the longest first', async () => {
    await insertJobs(database(), lockedJob(), 3)
    await insertJobs(database(), since('2 minutes'))
    const [lapsed] = await insertJobs(database(), since('4 minutes'))
    const [silent] = await insertJobs(database(), lockedJob({ heartbeatMissed: true }))
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['RunningLeaseExpired']).toBe(2)
    expect(worst['RunningLeaseExpired']).toMatchObject([
      { job: silent, queue: 'default', actor: 'test', worker: expect.any(String) },
      { job: lapsed },
    ])
  })

  it('do not count while their cancel is in flight (B218), or while they are set aside', async () => {
    await insertJobs(database(), { ...since('1 hour'), cancel_requested_at: ago('1 hour') })
    const [aside] = await insertJobs(database(), since('1 hour'))
    await database().rows(
      `insert into taskq.sweep_quarantine (function, row_key, until)
       values ('expired_locks', $1, 'infinity')`,
      [aside],
    )
    const { gauges } = await watchOnce(database())
    expect(gauges).toMatchObject({ RunningLeaseExpired: 0, RowsQuarantined: 1 })
  })

  it('count up to 10,000, and since ever where a deadline is `-infinity`', async () => {
    await insertJobs(database(), { ...lockedJob(), lock_expires_at: `'-infinity'` }, 10_020)
    const { gauges, failed } = await watchOnce(database())
    expect({ failed, value: gauges['RunningLeaseExpired'] }).toEqual({ failed: [], value: 10_000 })
  })
})

describe('a queue with due work', () => {
  const served = (name: string, lastClaim: string, pausedAt = 'null') =>
    database().rows(
      `insert into taskq.queues (name, last_claim_at, paused_at)
       values ('${name}', ${lastClaim}, ${pausedAt})`,
    )

  it('is unserved where nobody has ever tried to claim, or not for three minutes', async () => {
    await served('served', ago('1 minute'))
    await served('left', ago('4 minutes'))
    await served('paused', ago('4 minutes'), 'now()')
    for (const queue of ['served', 'left', 'paused', 'unknown'])
      await insertJobs(database(), { ...pendingJob(), queue: `'${queue}'` }, 3)
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['QueuesUnserved']).toBe(2)
    expect(worst['QueuesUnserved']).toEqual([
      { queue: 'unknown', claimAgeSeconds: null },
      { queue: 'left', claimAgeSeconds: expect.any(Number) },
    ])
  })

  it('is so for what is due and not promoted, too, and not for what is due later or runs', async () => {
    await insertJobs(database(), { ...scheduledJob({ due: true }), queue: `'due'` })
    await insertJobs(database(), { ...scheduledJob(), queue: `'later'` })
    await insertJobs(database(), { ...lockedJob(), queue: `'runs'` })
    const { worst } = await watchOnce(database())
    expect(worst['QueuesUnserved']?.map(({ queue }) => queue)).toEqual(['due'])
  })
})

describe('ready jobs of an actor without a row', () => {
  it('are stranded, by queue and actor', async () => {
    await database().rows(`insert into taskq.actors (actor) values ('test')`)
    await insertJobs(database(), pendingJob(), 4)
    await insertJobs(database(), { ...pendingJob(), actor: `'ghost'` }, 3)
    await insertJobs(database(), unclaimedJob('1 minute', { actor: `'ghost'`, queue: `'other'` }))
    await insertJobs(database(), { ...pendingJob(), actor: `'zombie'` }, 2)
    await insertJobs(database(), { ...lockedJob(), actor: `'ghost'` })
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['JobsStranded']).toBe(6)
    expect(worst['JobsStranded']).toEqual([
      { queue: 'default', actor: 'ghost', jobs: 3 },
      { queue: 'default', actor: 'zombie', jobs: 2 },
      { queue: 'other', actor: 'ghost', jobs: 1 },
    ])
  })
})
