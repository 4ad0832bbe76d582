import { hostname, userInfo } from 'node:os'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { type Deployment, runDeployment } from '../support/deployment.ts'
import { insertJobs, scheduledJob } from '../support/jobs.ts'
import { synthesized } from '../support/synthesis.ts'
import { startTaskq, taskq } from './cli-process.ts'

/** A process on a busy machine takes its time to start. */
const patiently = { timeout: 60_000 }
const principal = `${userInfo().username}@${hostname()}`
const database = useDatabase()
let deployment: Deployment

/** The deployed functions end after ten batches, so that a drain is several calls. */
beforeAll(async () => {
  await database().rows('drop schema taskq cascade')
  const stack = await synthesized({ settings: { sweepDrainBatches: '10' } })
  deployment = await runDeployment(stack, database().url)
  await deployment.deploy()
})
afterAll(() => deployment.stop())
beforeEach(() =>
  database().rows(`drop function if exists slow cascade;
    truncate taskq.jobs, taskq.sweep_quarantine, taskq.operator_audit cascade;
    update taskq.sweep_state set disabled_at = null, latched_at = null`),
)

/** The command knows the cloud and no database. */
const options = () => ({ env: deployment.environment as Record<string, string> })
const words = (...more: string[]) => ['drain', 'promotion', '--stack', 'TaskQ', ...more]
const drain = (...more: string[]) => taskq(words(...more), options())
const dueJobs = (count: number) => insertJobs(database(), scheduledJob({ due: true }), count)
const promoted = async () => (await database().rows(`select from taskq.jobs where status = 'pending'`)).length

/** The log of runs that were asked for with this reason, once it is so many lines. */
async function logged(lines: number, reason: string): Promise<unknown[]> {
  const found: unknown[] = []
  const look = async () => {
    const printed = await deployment.printed(0)
    found.push(...printed.map(line => JSON.parse(line)).filter(line => line.reason === reason))
    return found.length
  }
  await expect.poll(look, patiently).toBe(lines)
  return found
}

/** What every update of a job does beside it. */
const onUpdate = (body: string) =>
  database().rows(`create function slow() returns trigger language plpgsql as
      $$ begin ${body}; return new; end $$;
    create trigger slow before update on taskq.jobs for each row execute function slow()`)

describe('a drain of the deployed function', () => {
  test('follows call after call until nothing is left, and prints their sums', async () => {
    await dueJobs(3000)
    const { code, stderr, json } = await drain('--json', '--reason', 'after the outage')
    expect({ code, stderr, ...json }).toMatchObject({
      code: 0,
      stderr: '',
      function: 'promotion',
      schema: 'taskq',
      trigger: 'manual',
      outcome: 'drained',
      calls: 4,
      rows: 3000,
      batches: 31,
      pulses: 4,
      byDisposition: { promoted: 3000 },
      batchSize: 100,
      remaining: 0,
    })
    expect(await promoted()).toBe(3000)
    const asked = { requestedBy: principal, reason: 'after the outage' }
    expect(await logged(4, 'after the outage')).toMatchObject(Array(4).fill(asked))
  })

  test('for people is the result of all calls, and how many there were', async () => {
    await dueJobs(150)
    const { code, stdout } = await drain('--batch-size', '10', '--schema', 'taskq')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^promotion drained: 150 rows in 17 batches of at most 10; 0 left\n/)
    expect(stdout).toContain('\n  in 2 calls')
  })

  test('is of the queue in the schema that its stack says, and of no other', async () => {
    const said = 'USAGE: --schema: "billing" is none of stack "TaskQ": taskq'
    expect(await drain('--schema', 'billing')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(said),
    })
  })

  test('only counts in a dry run, which clears nothing either', async () => {
    await dueJobs(3)
    await database().rows('update taskq.sweep_state set latched_at = now()')
    const { code, json } = await drain('--dry-run', '--reset-breaker', '--json')
    expect({ code, ...json }).toMatchObject({ code: 0, dryRun: true, eligible: 3, calls: 1 })
    expect(await promoted()).toBe(0)
    expect(await database().rows('select from taskq.operator_audit')).toEqual([])
  })

  test('clears the breaker once, in the name of who asked', async () => {
    await dueJobs(1500)
    await database().rows('update taskq.sweep_state set latched_at = now(), consecutive_aborts = 3')
    const { json } = await drain('--reset-breaker', '--reason', 'a larger instance', '--json')
    expect(json).toMatchObject({ outcome: 'drained', calls: 2, degraded: false, rows: 1500 })
    const audit = await database().rows('select principal, action, reason from taskq.operator_audit')
    expect(audit).toEqual([{ principal, action: 'reset_breaker', reason: 'a larger instance' }])
  })

  test('names the rows that were set aside in any of its calls', async () => {
    const ids = await dueJobs(1200)
    const bad = [ids[3], ids[1100]].map(id => `'${id}'`)
    await onUpdate(`if new.id in (${bad}) then raise exception 'no such tenant'; end if`)
    const { code, json } = await drain('--json')
    expect({ code, ...json }).toMatchObject({ code: 0, outcome: 'drained', rows: 1198 })
    expect(new Set(json['quarantined'] as string[])).toEqual(new Set([ids[3], ids[1100]]))
    expect(json['calls']).toBeGreaterThan(1)
  })
})

describe('a drain ends', () => {
  test('at once where the function is switched off, and says how to switch it on', async () => {
    await dueJobs(1)
    await database().rows('update taskq.sweep_state set disabled_at = now()')
    const { code, stdout } = await drain()
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^promotion disabled: 0 rows .*taskq functions enable promotion switches it on\n$/s,
    )
    expect(await promoted()).toBe(0)
  })

  test('with exit code 1 where the server aborts a batch', async () => {
    await dueJobs(1)
    await onUpdate('perform pg_sleep(3)')
    const { code, json } = await drain('--json')
    expect({ code, ...json }).toMatchObject({ code: 1, outcome: 'aborted', rows: 0, calls: 1 })
  })

  test('after the time that it was given, and says what is left', async () => {
    await dueJobs(400)
    await onUpdate('perform pg_sleep(0.01)')
    const { code, json } = await drain('--max-seconds', '1', '--json')
    expect({ code, ...json }).toMatchObject({ code: 0, outcome: 'out_of_time' })
    expect([json['rows'], json['remaining']]).toEqual([await promoted(), 400 - (await promoted())])
  })

  test('never because a scheduled run has the lock for a while', async () => {
    await dueJobs(5)
    const holder = await database().client()
    await holder.query(`begin; select pg_advisory_xact_lock(hashtextextended('taskq:promotion:taskq', 0))`)
    const { ended } = startTaskq(words('--json', '--reason', 'in its way'), options())
    expect(await logged(1, 'in its way')).toMatchObject([{ outcome: 'contended' }])
    await holder.query('rollback')
    const { code, json } = await ended
    expect({ code, ...json }).toMatchObject({ code: 0, outcome: 'drained', rows: 5 })
    expect(json['calls']).toBeGreaterThan(1)
  })

  test('with exit code 4, under the function’s own error, at the wrong target', async () => {
    const [pinned] = await database().rows('select installation_id as id from taskq.installation')
    await database().rows('update taskq.installation set installation_id = gen_random_uuid()')
    const { code, stderr, json } = await drain('--json')
    await database().rows('update taskq.installation set installation_id = $1', [pinned?.['id']])
    expect({ code, ...json }).toMatchObject({ code: 4, error: { code: 'WRONG_TARGET' } })
    expect(stderr).not.toContain('    at ')
  })
})

describe.each(['SIGINT', 'SIGTERM'] as const)('%s', signal => {
  test('the first lets the running call end, the second does not wait for it', async () => {
    await dueJobs(1000)
    await onUpdate('perform pg_sleep(0.01)')
    const first = startTaskq(words('--json', '--batch-size', '20'), options())
    await expect.poll(promoted, patiently).toBeGreaterThan(0)
    first.child.kill(signal)
    const { code, json } = await first.ended
    expect({ code, ...json }).toMatchObject({ code: 0, outcome: 'stopped', rows: 200, batches: 10, calls: 1 })
    expect(await promoted()).toBe(200)

    const second = startTaskq(words('--json', '--batch-size', '20'), options())
    await expect.poll(promoted, patiently).toBeGreaterThan(200)
    second.child.kill(signal)
    await expect.poll(() => second.printed.stderr, patiently).toContain('once more ends at once')
    // Within a quarter of a second both are one wish.
    const again = setInterval(() => second.child.kill(signal), 50)
    const ended = await second.ended
    clearInterval(again)
    expect(ended).toMatchObject({ code: signal === 'SIGINT' ? 130 : 143, stdout: '' })
  })
})
