import { describe, expect, test } from 'vitest'
import { useCommand } from './cli-command.ts'
import { type Ended, taskq } from './cli-process.ts'

const { database, here, run, dueJobs, countJobs, slowDown } = useCommand()

describe('exit code 0: the answer, as one object with --json', () => {
  test('migrate', async () => {
    expect(await run('migrate', '--json')).toMatchObject({
      code: 0,
      json: { schema: 'taskq', version: expect.any(Number), applied: [] },
    })
    const fresh = await run('migrate', '--json', '--schema', 'another')
    expect(fresh.json['applied']).toContain('0001_jobs.sql')
  })

  test('migrate --status', async () => {
    const { code, json } = await run('migrate', '--status', '--json')
    expect(code).toBe(0)
    expect(json).toMatchObject({
      schema: 'taskq',
      pending: 0,
      migrations: expect.arrayContaining([{ version: 1, name: 'jobs', appliedAt: expect.any(String) }]),
    })
  })

  test('migrate --prebuild, where no build is missing', async () => {
    expect(await run('migrate', '--prebuild', '--json')).toMatchObject({
      code: 0,
      json: { schema: 'taskq', applied: [], left: [] },
    })
  })

  test('run: the object of the Lambda', async () => {
    await dueJobs(250)
    expect(await run('run', 'promotion', '--json', '--max-batches', '1')).toMatchObject({
      code: 0,
      json: {
        function: 'promotion',
        trigger: 'manual',
        outcome: 'bounded',
        rows: 100,
        batches: 1,
        remaining: 150,
      },
    })
    expect(await run('run', 'promotion', '--json', '--batch-size', '50')).toMatchObject({
      code: 0,
      json: { outcome: 'drained', rows: 150, batchSize: 50, batchSizeConfigured: 100, remaining: 0 },
    })
  })

  test('run --dry-run: the count, and nothing written', async () => {
    await dueJobs(3)
    expect(await run('run', 'promotion', '--json', '--dry-run')).toMatchObject({
      code: 0,
      json: { function: 'promotion', dryRun: true, eligible: 3 },
    })
    expect(await countJobs('scheduled')).toBe(3)
  })

  test('run: contended is no failure', async () => {
    const holder = await database().client()
    await holder.query(`begin; select pg_advisory_xact_lock(hashtextextended('taskq:promotion:taskq', 0))`)
    expect(await run('run', 'promotion', '--json')).toMatchObject({ code: 0, json: { outcome: 'contended' } })
    await holder.query('rollback')
  })

  test('enqueue', async () => {
    const first = await run('enqueue', 'send', '--payload', '{"to":"ada"}', '--key', 'k', '--json')
    expect(first).toMatchObject({ code: 0, json: { id: expect.any(String), created: true } })
    const again = await run('enqueue', 'send', '--payload', '{"to":"ada"}', '--key', 'k', '--json')
    expect(again.json).toEqual({ id: first.json['id'], created: false })
  })

  test('enqueue from stdin: one payload, or one a line', async () => {
    const one = await taskq(['enqueue', 'send', '--payload', '-', '--delay', '1h', '--priority=-3'], {
      ...here(),
      stdin: '{"to": "ada"}',
    })
    expect(one.code).toBe(0)
    const many = await taskq(['enqueue', 'send', '--many', '--json', '--queue', 'bulk'], {
      ...here(),
      stdin: '{"to":"bob"}\n\n{"to":"cy"}\n',
    })
    expect(many.json).toEqual({ enqueued: 2, ids: [expect.any(String), expect.any(String)] })
    const rows = await database().rows('select payload, queue, status, priority from taskq.jobs order by id')
    expect(rows).toEqual([
      { payload: { to: 'ada' }, queue: 'mail', status: 'scheduled', priority: -3 },
      { payload: { to: 'bob' }, queue: 'bulk', status: 'pending', priority: 0 },
      { payload: { to: 'cy' }, queue: 'bulk', status: 'pending', priority: 0 },
    ])
  })

  test('without --json it is for people', async () => {
    await dueJobs(2)
    const { stdout, stderr } = await run('run', 'promotion')
    expect(stdout).toContain('promotion drained: 2 rows in 1 batch of at most 100; 0 left')
    expect(stderr).toBe('')
  })
})

describe('status', () => {
  test('counts open jobs by queue, and says how each function is', async () => {
    await database().rows('update taskq.sweep_state set last_success_at = null, last_outcome = null')
    await dueJobs(2)
    await run('enqueue', 'send', '--payload', '1', '--queue', 'bulk')
    await run('run', 'promotion')
    expect(await run('status', '--json')).toMatchObject({
      code: 0,
      json: {
        healthy: true,
        degraded: false,
        reasons: [],
        functions: expect.arrayContaining([
          expect.objectContaining({
            function: 'promotion',
            state: 'drained',
            successAgeSeconds: expect.any(Number),
          }),
          expect.objectContaining({
            function: 'expired_locks',
            state: 'no run has completed yet',
            degraded: false,
          }),
        ]),
        queues: [
          { queue: 'bulk', paused: false, counts: { pending: 1, scheduled: 0, running: 0 } },
          { queue: 'mail', paused: false, counts: { pending: 2, scheduled: 0, running: 0 } },
        ],
        workers: [],
      },
    })
  })

  test('a function that is late makes it degraded, and the exit code only on request', async () => {
    await run('run', 'promotion')
    await database().rows(`update taskq.sweep_state set last_success_at = now() - interval '1 hour'
      where function = 'promotion'`)
    const { code, json } = await run('status', '--json')
    expect({ code, ...json }).toMatchObject({ code: 0, healthy: true, degraded: true })
    expect(json['reasons']).toEqual(['promotion: succeeded last 60 min ago, although it is due every 1 min'])
    expect((await run('status', '--fail-on', 'degraded')).code).toBe(1)
  })
})

describe('exit code 1: the operation failed', () => {
  const expectError = (ended: Ended, code: string) => {
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain(code)
  }

  test('an aborted run, with its result', async () => {
    await dueJobs(1)
    await slowDown(2)
    const env = { ...here().env, TASKQ_EVENT_WRITER_STATEMENT_TIMEOUT_MS: '50' }
    expect(await taskq(['run', 'promotion', '--json'], { env })).toMatchObject({
      code: 1,
      json: { outcome: 'aborted', rows: 0 },
    })
  })

  test('a schema that nobody migrated, with the next step', async () => {
    const ended = await run('run', 'promotion', '--schema', 'elsewhere')
    expectError(ended, 'NOT_MIGRATED: schema "elsewhere"')
    expect(ended.stderr).toContain('run "taskq migrate"')
    expectError(await run('status', '--schema', 'elsewhere'), 'NOT_MIGRATED')
  })

  test('an actor that nobody defined, and a key with another payload', async () => {
    expectError(await run('enqueue', 'nobody', '--payload', '1'), 'ACTOR_UNKNOWN')
    await run('enqueue', 'send', '--payload', '1', '--key', 'k')
    expectError(await run('enqueue', 'send', '--payload', '2', '--key', 'k'), 'IDEMPOTENCY_CONFLICT: --key')
  })
})

test('exit code 3: the database is unreachable, and its password is not shown', async () => {
  const url = 'postgres://ada:secret-word@127.0.0.1:1/taskq'
  const ended = await taskq(['run', 'promotion', '--database-url', url, '--json'])
  expect(ended).toMatchObject({ code: 3, json: { error: { code: 'DATABASE_UNREACHABLE' } } })
  expect(ended.stdout + ended.stderr).not.toContain('secret-word')
})

test('exit code 4: the wrong target, and nothing written', async () => {
  await dueJobs(1)
  await database().rows(`update taskq.installation set environment = 'staging'`)
  const env = { ...here().env, TASKQ_ENVIRONMENT: 'production' }
  for (const args of [['run', 'promotion'], ['status'], ['migrate']]) {
    const ended = await taskq([...args, '--json'], { env })
    expect(ended).toMatchObject({ code: 4, json: { error: { code: 'WRONG_TARGET' } } })
  }
  expect(await countJobs('scheduled')).toBe(1)
})
