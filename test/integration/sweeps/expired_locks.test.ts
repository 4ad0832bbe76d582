import { describe, expect, it } from 'vitest'
import { openingOf } from '../../../shared/sweeper/invocation.ts'
import { expiredLocks, reclaim, reclaimArgs, wholeWindow } from '../../../shared/sweeps/expired_locks.ts'
import { useDatabase } from '../../support/database.ts'
import { endedJob, insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { laws } from '../../support/laws/index.ts'
import { settingsWith, sweepOnce } from '../../support/sweeping.ts'

const expired = lockedJob({ expired: true })

laws({
  sweep: expiredLocks,
  due: [
    expired,
    lockedJob({ heartbeatMissed: true }),
    lockedJob({ expired: true, heartbeatMissed: true }),
    { ...expired, max_attempts: '1' },
    { ...expired, cancel_requested_at: 'now()' },
  ],
  spared: [
    lockedJob(),
    {
      ...lockedJob(),
      heartbeat_timeout: `interval '1 minute'`,
      heartbeat_expires_at: `now() + interval '1 minute'`,
    },
    { ...pendingJob(), lock_expires_at: `now() - interval '1 hour'` },
    { ...scheduledJob(), lock_expires_at: `now() - interval '1 hour'` },
    { ...endedJob('succeeded'), lock_expires_at: `now() - interval '1 hour'` },
    { status: `'running'`, attempt: '1' },
  ],
  leavesTrace: true,
})

const database = useDatabase()
const sweep = () => sweepOnce(database(), expiredLocks)

/** What became of one job: its row, its last attempt and its last event. */
async function fateOf(id: string | undefined) {
  const [fate] = await database().rows<Record<string, unknown>>(
    `select j.*, j.status::text as status, to_jsonb(a) as attempt_row, e.detail, e.occurred_at
     from taskq.jobs j
     left join lateral (
       select * from taskq.job_attempts where job_id = j.id order by attempt desc limit 1) a on true
     left join lateral (select * from taskq.job_events where job_id = j.id order by id desc limit 1) e on true
     where j.id = $1`,
    [id],
  )
  return fate
}

describe('a reclaimed job', () => {
  it('goes back to wait for its retry, freed of its holder', async () => {
    const [id] = await insertJobs(database(), expired)
    expect(await sweep()).toMatchObject({ byDisposition: { repended: 1 } })
    expect(await fateOf(id)).toMatchObject({
      status: 'scheduled',
      attempt: 1,
      locked_by: null,
      lock_expires_at: null,
      reclaim_at: null,
      finished_at: null,
      attempt_row: { attempt: 1, claim_epoch: 1, outcome: 'crashed', error_class: 'WorkerCrashed' },
      detail: { from_state: 'running', to_state: 'scheduled', reason: 'lock_expired', cause: 'lock_expired' },
    })
  })

  it('is crashed without budget, and its row says why as its attempt does (B057)', async () => {
    const [id] = await insertJobs(database(), { ...expired, attempt: '5' })
    expect(await sweep()).toMatchObject({ byDisposition: { crashed: 1 } })
    const fate = await fateOf(id)
    expect(fate).toMatchObject({ status: 'crashed', error_class: 'WorkerCrashed' })
    expect(fate?.['error_message']).toMatch(/lease/)
    expect(fate?.['attempt_row']).toMatchObject({ error_message: fate?.['error_message'] })
    expect(fate?.['finished_at']).toEqual(fate?.['occurred_at'])
  })

  it.each([
    ['with budget left', {}],
    ['without budget', { attempt: '5' }],
    ['retried for ever', { retry_kind: `'indefinite'` }],
  ])(
    'is cancelled where its cancel was in flight, %s: a cancel beats the budget (B040, B041)',
    async (_, columns) => {
      const cancel = { cancel_requested_at: 'now()', cancel_reason: `'not needed'` }
      const [id] = await insertJobs(database(), { ...expired, ...columns, ...cancel })
      expect(await sweep()).toMatchObject({ byDisposition: { cancelled: 1 } })
      expect(await fateOf(id)).toMatchObject({
        status: 'cancelled',
        cancel_reason: 'not needed',
        attempt_row: { outcome: 'cancelled' },
        detail: { to_state: 'cancelled' },
      })
    },
  )

  it('is cancelled where a newer instance superseded it', async () => {
    const [id] = await insertJobs(database(), { ...expired, superseded_by: 'gen_random_uuid()' })
    await sweep()
    expect(await fateOf(id)).toMatchObject({ status: 'cancelled' })
  })

  it('has budget by its policy: for ever, never, or by its charged attempts alone (B048)', async () => {
    const insert = async (columns: object) => (await insertJobs(database(), { ...expired, ...columns }))[0]
    const forever = await insert({ retry_kind: `'indefinite'`, attempt: '10000' })
    const never = await insert({ retry_kind: `'non_retryable'` })
    const uncharged = await insert({ attempt: '9', uncharged: '5' })
    const spent = await insert({ attempt: '10', uncharged: '5' })
    await sweep()
    const status = async (id: string | undefined) => (await fateOf(id))?.['status']
    expect([await status(forever), await status(never)]).toEqual(['scheduled', 'crashed'])
    expect([await status(uncharged), await status(spent)]).toEqual(['scheduled', 'crashed'])
  })

  it('names the deadline that fired, the lease where both have passed (B056)', async () => {
    const cause = async (columns: object) => {
      const [id] = await insertJobs(database(), { ...expired, ...columns })
      await sweep()
      const fate = await fateOf(id)
      return [(fate?.['detail'] as { cause: string } | undefined)?.cause, fate?.['error_message']]
    }
    expect(await cause({})).toEqual(['lock_expired', expect.stringContaining('lease')])
    expect(await cause(lockedJob({ heartbeatMissed: true }))).toEqual([
      'heartbeat_timeout',
      expect.stringContaining('heartbeat timeout'),
    ])
    expect(await cause(lockedJob({ expired: true, heartbeatMissed: true }))).toEqual([
      'lock_expired',
      expect.stringContaining('lease'),
    ])
  })

  it('needs no row of its worker, and names the worker where there is one (B044, B045)', async () => {
    const [vanished, repeated] = [
      '00000000-0000-4000-8000-00000000000a',
      '00000000-0000-4000-8000-00000000000b',
    ]
    await database().rows(`insert into taskq.workers (id, name) values ('${repeated}', 'worker-7')`)
    const [gone] = await insertJobs(database(), { ...expired, locked_by: `'${vanished}'` })
    const [nobody] = await insertJobs(database(), { ...expired, locked_by: 'null' })
    const shared = await insertJobs(database(), { ...expired, locked_by: `'${repeated}'` }, 5)
    expect(await sweep()).toMatchObject({ rows: 7 })
    const named = {
      attempt_row: { worker_id: repeated, worker_name: 'worker-7' },
      detail: { worker_id: repeated },
    }
    for (const id of shared) expect(await fateOf(id)).toMatchObject(named)
    expect(await fateOf(gone)).toMatchObject({ attempt_row: { worker_id: vanished, worker_name: null } })
    expect((await fateOf(nobody))?.['detail']).not.toHaveProperty('worker_id')
    const [count] = await database().rows(
      'select count(*)::int as rows from taskq.job_attempts where job_id = any ($1)',
      [shared],
    )
    expect(count).toEqual({ rows: 5 })
  })

  it('keeps the record of its attempt that was there first (B043)', async () => {
    const [id] = await insertJobs(database(), expired)
    await database().rows(
      `insert into taskq.job_attempts (job_id, attempt, outcome, error_class)
       values ($1, 1, 'failed', 'First')`,
      [id],
    )
    expect(await sweep()).toMatchObject({ rows: 1 })
    expect(await fateOf(id)).toMatchObject({ status: 'scheduled', attempt_row: { error_class: 'First' } })
  })

  it('cannot have a heartbeat timeout of nothing (B054)', async () => {
    const insert = insertJobs(database(), { ...lockedJob(), heartbeat_timeout: `interval '0'` })
    await expect(insert).rejects.toMatchObject({ code: '23514' })
  })

  it('is stamped by the clock of the moment, not of its transaction (B011, B012)', async () => {
    const [id] = await insertJobs(database(), expired)
    const connection = await database().connect()
    const settings = settingsWith()
    await connection.openBatch(openingOf(expiredLocks, { trigger: 'manual', settings }))
    const [between] = (await connection.script('select clock_timestamp()::text as at')) as { at: string }[]
    await connection.run(reclaim, { ...reclaimArgs(settings), ...wholeWindow, limit: 1 })
    await connection.commit()
    const [found] = await database().rows(
      `select e.occurred_at > $2::timestamptz as later,
         a.duration_ms = round(extract(epoch from a.finished_at - a.started_at) * 1000) as measured
       from taskq.job_events e join taskq.job_attempts a using (job_id) where e.job_id = $1`,
      [id, between?.at],
    )
    expect(found).toEqual({ later: true, measured: true })
  })
})
