import { describe, expect, it } from 'vitest'
import { render } from '../../../shared/sql/statement.ts'
import { expiredResults } from '../../../shared/sweeps/expired_results.ts'
import { openDatabase, useDatabase } from '../../support/database.ts'
import { holdReads } from '../../support/held-reads.ts'
import { endedJob, insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { laws } from '../../support/laws/index.ts'
import { sweepOnce } from '../../support/sweeping.ts'

const past = `statement_timestamp() - interval '1 hour' + n * interval '1 millisecond'`
const result = { result: `'{"sum": 7}'::jsonb`, result_size_bytes: '10' }
const expired = { ...result, result_expires_at: past }

laws({
  sweep: expiredResults,
  due: [
    { ...endedJob('succeeded'), ...expired },
    { ...endedJob('failed'), ...expired },
    // Redriven: a result of the run before is as old as before.
    { ...pendingJob(), ...expired },
    { ...scheduledJob(), ...expired },
    { ...lockedJob(), ...expired },
    { ...endedJob('succeeded'), ...expired, result: `'null'::jsonb` },
  ],
  spared: [
    { ...endedJob('succeeded'), ...result, result_expires_at: `now() + interval '1 hour'` },
    { ...endedJob('succeeded'), ...result },
    { ...endedJob('succeeded'), result_expires_at: past },
    { ...endedJob('succeeded'), ...result, result_expires_at: `'infinity'` },
  ],
  leavesTrace: false,
})

const database = useDatabase()

describe('an expired result', () => {
  it('is cleared with its size; when it expired stays, and so does all else (B094)', async () => {
    const [id] = await insertJobs(database(), {
      ...endedJob('succeeded'),
      ...expired,
      progress: `'{"done": 1}'`,
    })
    const rest = () =>
      database().rows(
        `select to_jsonb(j) - '{result,result_size_bytes}'::text[] as rest
        from taskq.jobs j where id = $1`,
        [id],
      )
    const before = await rest()
    expect(await sweepOnce(database(), expiredResults)).toMatchObject({
      byDisposition: { cleared: 1 },
      byActor: { test: { cleared: 1 } },
    })
    expect(await rest()).toEqual(before)
    const [row] = await database().rows(
      `select result, result_size_bytes, result_expires_at is not null as is_stamped
       from taskq.jobs where id = $1`,
      [id],
    )
    expect(row).toEqual({ result: null, result_size_bytes: null, is_stamped: true })
  })

  it('is expired at its instant, and not only after it (B094)', async () => {
    const own = await openDatabase()
    await insertJobs(own, { ...endedJob('succeeded'), ...expired })
    const [arm] = expiredResults.arms
    if (arm === undefined) throw new Error('it takes nothing')
    const { text } = render(arm.eligible.fragment, 'taskq')
    const client = await own.client()
    // In one message both statements have one instant: the result is to expire at the very one that asks.
    const answers = (await client.query(
      `update taskq.jobs set result_expires_at = statement_timestamp(); ${text.replace(/\$1::int8/, '10')}`,
    )) as unknown as { rows: unknown[] }[]
    expect(answers.at(-1)?.rows).toEqual([{ eligible: '1' }])
    await own.close()
  })

  it('that was renewed before it was locked stays (B115)', async () => {
    const own = await openDatabase()
    await insertJobs(own, { ...endedJob('succeeded'), ...expired }, 3)
    const held = await holdReads(own, 'jobs')
    const running = sweepOnce(own, expiredResults, { settings: held.settings })
    await held.reached()
    await own.rows(`update taskq.jobs set result_expires_at = now() + interval '1 hour'
      where id = (select min(id::text)::uuid from taskq.jobs)`)
    await held.release()
    expect(await running).toMatchObject({ outcome: 'drained', rows: 2 })
    const left = await own.rows('select from taskq.jobs where result is not null')
    expect(left).toHaveLength(1)
    await own.close()
  })
})
