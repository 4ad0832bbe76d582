import { beforeEach, expect, it } from 'vitest'
import { taskq } from '../e2e/cli-process.ts'
import { useDatabase } from '../support/database.ts'
import { insertJobs, scheduledJob } from '../support/jobs.ts'

/*
 * The breaker across processes: each run here is the real command in a process of its own, as each start of a
 * function is, and each abort is the server's own, of a statement that a trigger makes too slow.
 */

const database = useDatabase()
const url = () => database().url

/** One run in a new process: what it printed, and its exit code. */
async function runElsewhere(...flags: string[]) {
  const env = { TASKQ_DATABASE_URL: url(), TASKQ_EVENT_WRITER_STATEMENT_TIMEOUT_MS: '100' }
  const { code, json } = await taskq(['run', 'promotion', '--json', ...flags], { env })
  return { code, ...json }
}

const isSlow = (slow: boolean) =>
  database().rows(
    slow
      ? `create trigger slow before update on taskq.jobs for each row execute function public.slow()`
      : 'drop trigger slow on taskq.jobs',
  )
const aborted = { code: 1, outcome: 'aborted', rows: 0, batchesAborted: 1 }

beforeEach(async () => {
  await database().rows(`create or replace function slow() returns trigger
    language plpgsql security definer as
    $$ begin perform pg_sleep(60); return new; end $$`)
  await insertJobs(database(), scheduledJob({ due: true }), 260)
})

it('three aborts in three processes latch it for a fourth, until a reset', async () => {
  await isSlow(true)
  for (const _ of Array(2)) expect(await runElsewhere()).toMatchObject({ ...aborted, degraded: false })
  await isSlow(false)
  // One success between them, and the count begins again.
  expect(await runElsewhere('--max-batches', '1')).toMatchObject({ code: 0, outcome: 'bounded', rows: 100 })
  await isSlow(true)
  for (const _ of Array(3)) expect(await runElsewhere()).toMatchObject({ ...aborted, degraded: false })
  await isSlow(false)

  const reduced = { degraded: true, batchSize: 25, batchSizeConfigured: 100 }
  expect(await runElsewhere('--max-batches', '2')).toMatchObject({ code: 0, rows: 50, ...reduced })
  // A laptop's good run clears nothing either.
  expect(await runElsewhere('--max-batches', '1')).toMatchObject({ rows: 25, ...reduced })
  const whole = { degraded: false, batchSize: 100 }
  expect(await runElsewhere('--reset-breaker')).toMatchObject({
    code: 0,
    outcome: 'drained',
    rows: 85,
    ...whole,
  })
  expect(await runElsewhere()).toMatchObject({ code: 0, outcome: 'drained', rows: 0, ...whole })
})
