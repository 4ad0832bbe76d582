import { hostname, userInfo } from 'node:os'
import { beforeEach, describe, expect, test } from 'vitest'
import { routines } from '../../shared/sweeps/index.ts'
import { makeLogin } from '../support/logins.ts'
import { useCommand } from './cli-command.ts'
import { taskq } from './cli-process.ts'

const { database, here, run, dueJobs, countJobs } = useCommand()
const principal = `${userInfo().username}@${hostname()}`

beforeEach(() =>
  database().rows(`truncate taskq.operator_audit, taskq.sweep_quarantine;
    update taskq.sweep_state set disabled_at = null, disabled_by = null, latched_at = null,
      consecutive_aborts = 0, last_outcome = null`),
)

const audited = () =>
  database().rows('select principal, action, target, reason from taskq.operator_audit order by id')
const setAside = (...keys: string[]) =>
  database().rows(
    `insert into taskq.sweep_quarantine (function, row_key, until, last_error)
    select 'promotion', key, now() + interval '1 day', 'a bad row' from unnest($1::text[]) as key`,
    [keys],
  )

describe('functions', () => {
  test('list: the switch and the breaker of each, those that never ran among them', async () => {
    await setAside('a')
    await database().rows(`update taskq.sweep_state set latched_at = now(), consecutive_aborts = 3
      where function = 'promotion'; delete from taskq.sweep_state where function = 'expired_locks'`)
    const { code, json } = await run('functions', 'list', '--json')
    expect({ code, ...json }).toMatchObject({ code: 0, schema: 'taskq' })
    const functions = json['functions'] as { function: string }[]
    expect(functions.map(each => each.function).sort()).toEqual(routines.map(each => each.purpose).sort())
    expect(functions).toContainEqual({
      function: 'promotion',
      enabled: true,
      disabledAt: null,
      disabledBy: null,
      latchedAt: expect.any(String),
      consecutiveAborts: 3,
      lastOutcome: null,
      lastError: null,
      setAside: 1,
    })
    expect(functions).toContainEqual(
      expect.objectContaining({ function: 'expired_locks', enabled: true, latchedAt: null, setAside: 0 }),
    )
    const { stdout } = await run('functions', 'list')
    expect(stdout).toMatch(/^promotion: on; breaker latched \S+; 1 set aside; no run yet$/m)
  })

  test('disable and enable: a run answers so, and a second time changes nothing', async () => {
    await dueJobs(2)
    const off = await run('functions', 'disable', 'promotion', '--reason', 'a bad deploy', '--json')
    expect(off).toMatchObject({ code: 0, json: { function: 'promotion', enabled: false, changed: true } })
    expect(await run('run', 'promotion', '--json')).toMatchObject({ code: 0, json: { outcome: 'disabled' } })
    expect((await run('functions', 'list')).stdout).toContain(`, by ${principal}; `)
    const again = await run('functions', 'disable', 'promotion')
    expect(again).toMatchObject({ code: 0, stdout: 'promotion is off already: nothing has changed\n' })
    const on = await run('functions', 'enable', 'promotion', '--json')
    expect(on.json).toEqual({ function: 'promotion', enabled: true, changed: true })
    expect(await run('run', 'promotion', '--json')).toMatchObject({ json: { outcome: 'drained', rows: 2 } })
    expect(await audited()).toEqual([
      { principal, action: 'disable_function', target: 'promotion', reason: 'a bad deploy' },
      { principal, action: 'enable_function', target: 'promotion', reason: null },
    ])
  })

  test('run in the role of maintenance, and not for a login without it', async () => {
    await database().rows('alter table taskq.operator_audit add column made_by text default current_user')
    await run('functions', 'disable', 'promotion')
    const made = await database().rows('select made_by from taskq.operator_audit')
    await database().rows('alter table taskq.operator_audit drop column made_by')
    expect(made).toEqual([{ made_by: 'taskq_maintenance' }])
    const login = await makeLogin(database(), 'in role taskq_client')
    const args = ['functions', 'enable', 'promotion', '--json', '--database-url', login.url]
    const refused = await taskq(args)
    await login.drop()
    expect(refused).toMatchObject({ code: 1, json: { error: { code: 'PERMISSION_DENIED' } } })
    expect(await database().rows('select from taskq.sweep_state where disabled_at is not null')).toHaveLength(
      1,
    )
  })

  test.each([
    ['functions reset', ['functions', 'reset', 'promotion'], { wasLatched: true, changed: true }],
    ['run --reset-breaker', ['run', 'promotion', '--reset-breaker'], { outcome: 'drained', degraded: false }],
  ])('%s: the latch is gone, and who cleared it is told', async (_, args, answered) => {
    await database().rows('update taskq.sweep_state set latched_at = now(), consecutive_aborts = 3')
    const degraded = await run('run', 'promotion')
    expect(degraded.stdout).toContain('of at most 25; 0 left')
    expect(degraded.stdout).toContain('degraded: its breaker has latched')
    const ended = await run(...args, '--reason', 'a larger instance', '--json')
    expect(ended).toMatchObject({ code: 0, json: { function: 'promotion', ...answered } })
    expect((await run('run', 'promotion')).stdout).toContain('of at most 100; 0 left')
    const told = { principal, action: 'reset_breaker', target: 'promotion', reason: 'a larger instance' }
    expect(await audited()).toEqual([told])
    expect(await run('functions', 'reset', 'promotion', '--json')).toMatchObject({
      code: 0,
      json: { wasLatched: false, changed: false },
    })
  })

  test('a dry run counts and clears nothing', async () => {
    await dueJobs(1)
    await database().rows('update taskq.sweep_state set latched_at = now()')
    const { json } = await run('run', 'promotion', '--dry-run', '--reset-breaker', '--json')
    expect(json).toMatchObject({ dryRun: true, eligible: 1 })
    expect(await database().rows('select from taskq.sweep_state where latched_at is null')).toEqual([])
    expect(await audited()).toEqual([])
  })
})

describe('quarantine', () => {
  test('list: each row with its error, of one function or of all', async () => {
    expect((await run('quarantine', 'list')).stdout).toBe('no row is set aside\n')
    await setAside('a', 'b')
    const { code, json } = await run('quarantine', 'list', 'promotion', '--json')
    const row = { function: 'promotion', failures: 1, lastError: 'a bad row' }
    const times = { until: expect.any(String), firstSeenAt: expect.any(String) }
    expect({ code, ...json }).toEqual({
      code: 0,
      schema: 'taskq',
      rows: [
        { ...row, ...times, rowKey: 'a' },
        { ...row, ...times, rowKey: 'b' },
      ],
    })
    expect((await run('quarantine', 'list', 'expired_locks', '--json')).json['rows']).toEqual([])
    expect((await run('quarantine', 'list')).stdout).toMatch(
      /^promotion a: failed 1 time, again at .*: a bad row/,
    )
  })

  test('release: one row, then all, then none', async () => {
    await setAside('a', 'b', 'c')
    const release = (...more: string[]) => run('quarantine', 'release', 'promotion', ...more, '--json')
    expect(await release('b', '--reason', 'mended')).toMatchObject({ code: 0, json: { released: ['b'] } })
    expect(await release('--all')).toMatchObject({ code: 0, json: { released: ['a', 'c'] } })
    expect(await release('--all')).toMatchObject({ code: 0, json: { function: 'promotion', released: [] } })
    const none = await run('quarantine', 'release', 'promotion', 'b')
    expect(none).toMatchObject({ code: 1, stdout: 'promotion: b is not set aside: nothing has changed\n' })
    expect(await release('b')).toMatchObject({ code: 1, json: { function: 'promotion', released: [] } })
    const told = { principal, action: 'release_rows', target: 'promotion' }
    expect(await audited()).toEqual([
      { ...told, reason: 'mended' },
      { ...told, reason: null },
    ])
  })

  test('release: the id of a job may be given in capitals', async () => {
    const key = '0197c6a5-4d1e-7c58-9a3f-6f8f4f2c9d10'
    await setAside(key)
    const ended = await run('quarantine', 'release', 'promotion', key.toUpperCase(), '--json')
    expect(ended).toMatchObject({ code: 0, json: { released: [key] } })
  })

  test('a run shows what it set aside', async () => {
    await dueJobs(3)
    const [bad] = await database().rows<{ id: string }>(`update taskq.jobs set priority = 9
      where id = (select id from taskq.jobs order by id limit 1) returning id`)
    await database().rows(`create function slow() returns trigger language plpgsql as
        $$ begin raise exception 'no such tenant'; end $$;
      create trigger slow before update on taskq.jobs for each row when (old.priority = 9)
        execute function slow()`)
    const { code, stdout } = await run('run', 'promotion')
    expect(stdout).toContain('promotion drained: 2 rows')
    expect(stdout).toContain(`1 row set aside: ${bad?.id} (taskq quarantine list promotion)`)
    expect(code).toBe(0)
    expect((await run('quarantine', 'list')).stdout).toContain(`${bad?.id}: failed 1 time`)
  })
})

describe('what is refused', () => {
  test.each([
    [['functions'], 'USAGE: VERB: "functions" lacks its second word; there are functions list, '],
    [['functions', 'frob'], 'USAGE: VERB: "functions frob" is none'],
    [['quarantine', '--json'], 'USAGE: VERB: "quarantine" lacks its second word'],
    [['enable', 'promotion'], 'USAGE: VERB: "enable" is none'],
    [['functions', 'enable'], 'USAGE: FUNCTION: is missing; see "taskq functions enable --help"'],
    [['functions', 'disable', 'vacuum'], 'USAGE: FUNCTION: "vacuum" is none; there are '],
    [['functions', 'disable', 'promotion', 'expired_locks'], 'USAGE: "expired_locks": is one word too many'],
    [['functions', 'list', 'promotion'], 'USAGE: "promotion": is one word too many for taskq functions list'],
    [['functions', 'disable', 'promotion', '--reason', ''], 'USAGE: --reason: is empty'],
    [['functions', 'disable', 'promotion', '--reason', 'a\nb'], 'USAGE: --reason: holds a control character'],
    [['run', 'promotion', '--reset-breaker', '--reason', 'x'.repeat(1001)], 'USAGE: --reason: is longer'],
    [['quarantine', 'list', 'vacuum'], 'USAGE: FUNCTION: "vacuum"'],
    [['quarantine', 'release', 'promotion'], 'USAGE: ROW: is missing: name one row, or say --all'],
    [['quarantine', 'release', 'promotion', 'a', '--all'], 'USAGE: --all: is every row, and a is one'],
    [['quarantine', 'release', '--all'], 'USAGE: FUNCTION: is missing'],
  ])('with exit code 2, nothing changed: taskq %j', async (args, said) => {
    await setAside('a')
    await dueJobs(1)
    const ended = await run(...args)
    expect(ended.stderr).toContain(said)
    expect(ended.code).toBe(2)
    expect(await database().rows('select from taskq.sweep_quarantine')).toHaveLength(1)
    expect(await database().rows('select from taskq.sweep_state where disabled_at is not null')).toEqual([])
    expect([await countJobs('scheduled'), await audited()]).toEqual([1, []])
  })

  test('with exit code 4 at the wrong target, nothing changed', async () => {
    await setAside('a')
    await database().rows('update taskq.sweep_state set latched_at = now()')
    const env = { ...here().env, TASKQ_ENVIRONMENT: 'production' }
    const mutations = [
      ['functions', 'disable', 'promotion'],
      ['functions', 'reset', 'promotion'],
      ['quarantine', 'release', 'promotion', '--all'],
      ['functions', 'list'],
    ]
    for (const args of mutations) {
      const ended = await taskq([...args, '--json'], { env })
      expect(ended).toMatchObject({ code: 4, json: { error: { code: 'WRONG_TARGET' } } })
    }
    expect(await database().rows('select from taskq.sweep_quarantine')).toHaveLength(1)
    expect(await database().rows('select from taskq.sweep_state where latched_at is null')).toEqual([])
    expect(await audited()).toEqual([])
  })
})
