import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { migrate } from '../../../shared/db/migrate.ts'
import { deadlineExceeded } from '../../../shared/sweeps/deadline_exceeded.ts'
import { expiredLocks } from '../../../shared/sweeps/expired_locks.ts'
import { promotion } from '../../../shared/sweeps/promotion.ts'
import { useDatabase } from '../../support/database.ts'
import { insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { nobody } from '../../support/migrating.ts'
import { type SweepOptions, sweepOnce } from '../../support/sweeping.ts'

const database = useDatabase()
const due = scheduledJob({ due: true })
const short = { eventWriterBatchSize: 10, eventWriterStatementTimeoutMs: 50, batchLockTimeoutMs: 10 }

beforeEach(async () => {
  await database().rows(`truncate taskq.jobs cascade; truncate taskq.operator_audit, taskq.sweep_quarantine;
    drop function if exists slow cascade;
    create function slow() returns trigger language plpgsql security definer as
      $$ begin perform pg_sleep(60); return new; end $$;
    update taskq.sweep_state set consecutive_aborts = 0, first_abort_at = null, latched_at = null,
      disabled_at = null`)
  await insertJobs(database(), due, 25)
})

/** Every update of a job takes longer than a batch may; or none does any more. */
const isSlow = (slow: boolean) =>
  database().rows(
    slow
      ? 'create trigger slow before update on taskq.jobs for each row execute function public.slow()'
      : 'drop trigger slow on taskq.jobs',
  )
const run = (options: SweepOptions = {}) => sweepOnce(database(), promotion, { settings: short, ...options })
const breaker = async (purpose = 'promotion') => {
  const [row] = await database().rows(
    `select consecutive_aborts as aborts, first_abort_at is not null as has_first,
       latched_at is not null as is_latched
     from taskq.sweep_state where function = $1`,
    [purpose],
  )
  return row
}
async function abort(times: number): Promise<void> {
  await isSlow(true)
  for (let time = 0; time < times; time++) expect(await run()).toMatchObject({ outcome: 'aborted' })
  await isSlow(false)
}

describe('a breaker', () => {
  it.each([
    [promotion, due],
    [expiredLocks, lockedJob({ expired: true })],
    [deadlineExceeded, pendingJob({ overdue: true })],
  ])(
    'of $purpose latches at the third batch in a row that the server ends, and says so',
    async (sweep, row) => {
      await insertJobs(database(), row, 25)
      await isSlow(true)
      const sweeping = () => sweepOnce(database(), sweep, { settings: short })
      for (const aborts of [1, 2, 3]) {
        expect(await sweeping()).toMatchObject({ outcome: 'aborted', degraded: false, batchSize: 10 })
        const is_latched = aborts === 3
        expect(await breaker(sweep.purpose)).toEqual({ aborts, has_first: true, is_latched })
      }
      await isSlow(false)
      const reduced = await sweeping()
      expect(reduced).toMatchObject({
        outcome: 'drained',
        degraded: true,
        batchSize: 2,
        batchSizeConfigured: 10,
      })
      expect(reduced.batches).toBeGreaterThanOrEqual(13)
      // What went well at a part of the size says nothing about the whole: the count goes, the latch stays.
      expect(await breaker(sweep.purpose)).toEqual({ aborts: 0, has_first: false, is_latched: true })
      expect(await sweeping()).toMatchObject({ degraded: true })
    },
  )

  it('begins to count again after a success', async () => {
    await abort(2)
    expect(await run()).toMatchObject({ outcome: 'drained' })
    expect(await breaker()).toMatchObject({ aborts: 0, has_first: false })
    await insertJobs(database(), due, 5)
    await abort(2)
    expect(await breaker()).toMatchObject({ aborts: 2, is_latched: false })
    await abort(1)
    expect(await breaker()).toMatchObject({ aborts: 3, is_latched: true })
  })

  it('does not count batches that lost a lock, however many', async () => {
    const holder = await database().client()
    await holder.query('begin; lock table taskq.jobs in access exclusive mode')
    for (const _ of Array(4)) expect(await run()).toMatchObject({ outcome: 'aborted', batchesAborted: 3 })
    await holder.query('commit')
    expect(await breaker()).toEqual({ aborts: 0, has_first: false, is_latched: false })
  })

  it('does not count what began before its window', async () => {
    await abort(2)
    await database().rows(`update taskq.sweep_state set first_abort_at = now() - interval '601 seconds'`)
    await abort(2)
    expect(await breaker()).toEqual({ aborts: 2, has_first: true, is_latched: false })
    await abort(1)
    expect(await breaker()).toMatchObject({ is_latched: true })
  })

  it('spans four starts of its function at least, however short its window', async () => {
    const ago = (seconds: number) =>
      database().rows(`update taskq.sweep_state set first_abort_at = now() - interval '${seconds} seconds'`)
    const settings = { ...short, sweepBreakerWindowSecs: 1 }
    await isSlow(true)
    await run({ settings })
    await ago(230)
    await run({ settings })
    expect(await breaker()).toMatchObject({ aborts: 2 })
    await ago(250)
    await run({ settings })
    expect(await breaker()).toMatchObject({ aborts: 1 })
    await isSlow(false)
  })

  it('does not count batches that somebody made larger than configured', async () => {
    await isSlow(true)
    for (const _ of Array(4)) {
      expect(await run({ request: { batchSize: 11 } })).toMatchObject({ outcome: 'aborted' })
    }
    expect(await breaker()).toEqual({ aborts: 0, has_first: false, is_latched: false })
  })

  it('obeys its settings: threshold, window and divisor', async () => {
    const settings = { ...short, sweepBreakerFailureThreshold: 1, eventWriterReducedBatchDivisor: 20 }
    await isSlow(true)
    await run({ settings })
    expect(await breaker()).toMatchObject({ is_latched: true })
    await isSlow(false)
    // Never less than a row, and no more than was asked for.
    expect(await run({ settings })).toMatchObject({ batchSize: 1, rows: 25 })
    expect(await run({ request: { batchSize: 1 } })).toMatchObject({ batchSize: 1, degraded: true })
    expect(await run({ request: { batchSize: 9 } })).toMatchObject({ batchSize: 2, degraded: true })
  })
})

describe('a latch', () => {
  beforeEach(() => abort(3))

  it('stays, whatever time passes and however many runs go well', async () => {
    await database().rows(`update taskq.sweep_state set latched_at = latched_at - interval '90 days'`)
    for (const _ of Array(3)) expect(await run()).toMatchObject({ outcome: 'drained', degraded: true })
  })

  it('is cleared by an operator, whose name and reason are kept', async () => {
    const request = { resetBreaker: true, requestedBy: 'ada', reason: 'a larger instance' }
    expect(await run({ request })).toMatchObject({ outcome: 'drained', degraded: false, batchSize: 10 })
    expect(await breaker()).toEqual({ aborts: 0, has_first: false, is_latched: false })
    const audit = await database().rows(`select principal, action, target, reason,
      detail ? 'latched_at' as tells from taskq.operator_audit`)
    const told = { principal: 'ada', reason: 'a larger instance', tells: true }
    expect(audit).toEqual([{ ...told, action: 'reset_breaker', target: 'promotion' }])
  })

  it('is cleared with its count: the next abort is the first again', async () => {
    await insertJobs(database(), due, 5)
    await isSlow(true)
    const request = { resetBreaker: true, requestedBy: 'ada' }
    expect(await run({ request })).toMatchObject({ outcome: 'aborted', degraded: false })
    await isSlow(false)
    expect(await breaker()).toEqual({ aborts: 1, has_first: true, is_latched: false })
  })

  it.each([
    ['a dry run', { dryRun: true }, 'true'],
    ['a function that is switched off', {}, `disabled_at = now()`],
  ])('is not cleared by %s', async (_, more, change) => {
    if (change !== 'true') await database().rows(`update taskq.sweep_state set ${change}`)
    await run({ request: { resetBreaker: true, requestedBy: 'ada', ...more } })
    expect(await breaker()).toMatchObject({ is_latched: true })
    expect(await database().rows('select from taskq.operator_audit')).toEqual([])
  })

  it('is not cleared at the wrong target', async () => {
    const settings = { ...short, installationId: randomUUID() }
    const request = { resetBreaker: true, requestedBy: 'ada' }
    await expect(run({ settings, request })).rejects.toMatchObject({ code: 'WRONG_TARGET' })
    expect(await breaker()).toMatchObject({ is_latched: true })
  })

  it('is cleared by the migration of a new deployment, and of no old one', async () => {
    const deploy = async (deploymentId: string | undefined) => {
      const installation = { ...nobody, deploymentId }
      await migrate(await database().connect(), { installation })
      return breaker()
    }
    expect(await deploy(undefined)).toMatchObject({ is_latched: true })
    expect(await deploy('a')).toMatchObject({ is_latched: false })
    await insertJobs(database(), due, 5)
    await abort(3)
    expect(await deploy('a')).toMatchObject({ is_latched: true })
    expect(await deploy('b')).toEqual({ aborts: 0, has_first: false, is_latched: false })
  })
})
