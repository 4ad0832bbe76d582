import { writeFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeLogin } from '../support/logins.ts'
import { useCommand } from './cli-command.ts'
import { taskq } from './cli-process.ts'
import { useFolder } from './own-folder.ts'

const { database, here, run } = useCommand()
const folder = useFolder()
const principal = `${userInfo().username}@${hostname()}`

beforeEach(() =>
  database().rows(`truncate taskq.schedules, taskq.schedule_revisions, taskq.schedule_occurrences,
    taskq.schedule_decisions, taskq.operator_audit`),
)

const intent = ['--missed', 'latest', '--on-open', 'supersede']
const create = (name: string, ...more: string[]) =>
  run('schedules', 'create', name, '--actor', 'send', '--payload', '{"n":1}', ...more)
const audited = () =>
  database().rows('select principal, action, target, reason from taskq.operator_audit order by id')

describe('taskq schedules', () => {
  test('create, pause, resume, edit and retire: each says what it did, and who did it is told', async () => {
    const created = await create('daily', '--cron', '0 7 * * *', ...intent, '--reason', 'news', '--json')
    expect(created).toMatchObject({ code: 0, json: { name: 'daily', changed: true, revision: 1 } })
    expect(Object.keys(created.json)).toEqual(['name', 'changed', 'revision', 'nextAt', 'note'])
    const paused = await run('schedules', 'pause', 'daily')
    expect(paused.stdout).toBe('daily: paused; keeps no instant owed, and what falls due meanwhile\n')
    expect((await run('schedules', 'pause', 'daily')).stdout).toBe(
      'daily: it is paused already: nothing has changed\n',
    )
    await run('schedules', 'resume', 'daily', '--drop-missed')
    const edit = ['schedules', 'edit', 'daily']
    await run(...edit, '--every', '15m', '--queue', 'mail', '--end-at', '2099-01-01')
    expect((await run(...edit, '--clear', 'queue,end-at', '--json')).json).toMatchObject({ revision: 3 })
    const [row] = await database().rows('select recurrence, queue, end_at, enabled from taskq.schedules')
    expect(row).toEqual({ recurrence: 'every 15m', queue: null, end_at: null, enabled: true })
    await run('schedules', 'retire', 'daily', '--reason', 'over')
    const told = { principal, target: 'daily', reason: null }
    expect(await audited()).toEqual([
      { ...told, action: 'create_schedule', reason: 'news' },
      { ...told, action: 'pause_schedule' },
      { ...told, action: 'resume_schedule' },
      { ...told, action: 'edit_schedule' },
      { ...told, action: 'edit_schedule' },
      { ...told, action: 'retire_schedule', reason: 'over' },
    ])
    const decided = await database().rows('select distinct principal from taskq.schedule_decisions')
    expect(decided).toEqual([{ principal }])
  })

  test('list: when each is due, and what a missed run of it means', async () => {
    expect((await run('schedules', 'list')).stdout).toBe('there is no schedule\n')
    await create('daily', '--cron', '0 7 * * *', '--timezone', 'Europe/Berlin', ...intent)
    await create('owed', '--every', '1h', '--deliverable')
    await run('schedules', 'pause', 'owed')
    const { stdout } = await run('schedules', 'list')
    expect(stdout).toMatch(
      /^daily: 0 7 \* \* \* Europe\/Berlin; latest, supersede; on; next \S+; last fired never$/m,
    )
    expect(stdout).toMatch(/^owed: every 1h UTC; deliverable; paused; next /m)
    const page = await run('schedules', 'list', '--after', 'daily', '--limit', '1', '--json')
    const schedules = [{ name: 'owed', shape: 'deliverable' }]
    expect(page.json).toMatchObject({ schema: 'taskq', schedules, more: false })
  })

  test('list: says that there are more, and how to go on', async () => {
    for (const name of ["a 'b'", 'owed', 'then']) await create(name, '--every', '1h', '--deliverable')
    const list = ['schedules', 'list', '--limit', '1']
    const first = await run(...list)
    expect(first.stdout).toContain(String.raw`… and more: go on with --after 'a '\''b'\'''`)
    const next = await run(...list, '--after', "a 'b'")
    expect(next.stdout).toMatch(/^owed: .*\n… and more: go on with --after owed\n$/)
    expect((await run(...list, '--after', 'owed', '--json')).json).toMatchObject({ more: false })
    expect((await run(...list, '--json')).json).toMatchObject({ more: true })
  })

  test('explain and simulate: in words and dates', async () => {
    await create('owed', '--cron', '0 0 * * *', '--deliverable')
    const explained = await run('schedules', 'explain', 'owed')
    expect(explained.stdout).toContain('A deliverable: after an outage every instant is fired')
    expect(explained.stdout).toMatch(
      /After three days without a tick from now:\n {2}\S+: fires 3 instants from /,
    )
    const outage = ['--from', '2030-01-01T00:00Z', '--until', '2030-01-02T12:00:00+01:00']
    const simulated = await run('schedules', 'simulate', 'owed', ...outage)
    expect(simulated.stdout).toBe(
      'owed\n  2030-01-02T11:00:00.000Z: fires 2 instants from 2030-01-01T00:00:00.000Z ' +
        'to 2030-01-02T00:00:00.000Z; then 2030-01-03T00:00:00.000Z\n',
    )
    const { json } = await run('schedules', 'simulate', 'owed', ...outage, '--json')
    expect(json).toMatchObject({ name: 'owed', enabled: true, left: 0, decisions: [{ missed: 0 }] })
  })

  test('run-now and backfill: jobs, with an exit code that a script reads', async () => {
    await create('owed', '--cron', '0 0 * * *', '--deliverable')
    const ran = await run('schedules', 'run-now', 'owed', '--payload', '{"n":2}', '--json')
    expect(ran).toMatchObject({ code: 0, json: { name: 'owed', outcome: 'fired', superseded: 0 } })
    const range = ['--from', '2026-01-01', '--to', '2026-01-03']
    const filled = await run('schedules', 'backfill', 'owed', ...range, '--reason', 'owed since')
    expect(filled).toMatchObject({ code: 0, stdout: 'owed: fired 3 instants, 0 decided before\n' })
    await database().rows('update taskq.actors set max_pending = 1')
    const full = await run(
      'schedules',
      'backfill',
      'owed',
      '--from',
      '2025-12-31',
      '--to',
      '2026-01-03',
      '--json',
    )
    expect(full).toMatchObject({ code: 1, json: { name: 'owed', fired: 0, existing: 3, complete: false } })
    expect(await run('schedules', 'run-now', 'owed')).toMatchObject({ code: 1 })
    expect(await database().rows(`select from taskq.jobs where payload = '{"n": 2}'`)).toHaveLength(1)
  })

  test('sync: creates what the module declares, and tells what was edited by hand', async () => {
    const client = new URL('../../functions/entry/client.ts', import.meta.url).href
    const module = join(folder().path, 'definitions.mjs')
    const validate = `value => value.n > 0 ? { value } : { issues: [{ message: 'n is missing' }] }`
    writeFileSync(
      module,
      `import { defineActor, defineSchedule } from '${client}'
      const payload = { '~standard': { version: 1, vendor: 'test', validate: ${validate} } }
      const send = defineActor({ name: 'send', payload })
      export const actors = [send]
      export const payloadFactories = { made: () => ({ n: 3 }) }
      const terms = { actor: send, cron: '0 7 * * *', deliverable: {} }
      export const schedules = [
        defineSchedule({ ...terms, name: 'made', payloadFactory: 'made' }),
        defineSchedule({ ...terms, name: 'plain', payload: { n: 1 } }),
      ]`,
    )
    const definitions = ['--definitions', module]
    const synced = await run('sync', ...definitions)
    expect(synced.stdout).toBe(
      'schema taskq: changed send; 0 unchanged\nschedules: created made, plain; 0 unchanged\n',
    )
    await run('schedules', 'edit', 'plain', '--timezone', 'Asia/Tokyo')
    const { stdout } = await run('sync', ...definitions)
    expect(stdout).toContain('  plain was edited by hand, and is as defined again: timezone\n')
    expect(await run('schedules', 'run-now', 'made', ...definitions)).toMatchObject({ code: 0 })
    expect(await database().rows(`select from taskq.jobs where payload = '{"n": 3}'`)).toHaveLength(1)
    const wrong = await run('schedules', 'edit', 'plain', '--payload', '{"n":0}', ...definitions)
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--payload: n is missing') })
  })

  test('run in the role of maintenance, and not for a login that may not', async () => {
    await create('owed', '--cron', '0 0 * * *', '--deliverable')
    const login = await makeLogin(database(), 'in role taskq_reader')
    const as = ['--json', '--database-url', login.url]
    const listed = await taskq(['schedules', 'list', ...as])
    const refused = await taskq(['schedules', 'pause', 'owed', ...as])
    await login.drop()
    expect(listed).toMatchObject({ code: 0, json: { schedules: [{ name: 'owed' }] } })
    expect(refused).toMatchObject({ code: 1, json: { error: { code: 'PERMISSION_DENIED' } } })
  })
})

describe('what is refused, with nothing changed', () => {
  const daily = ['create', 'daily', '--actor', 'send', '--cron', '@daily', '--payload', '1']
  test.each([
    [2, daily, 'OPTION_INVALID: --missed: is missing, and so is --deliverable: say what'],
    [2, [...daily, '--missed', 'latest'], 'OPTION_INVALID: --on-open: is not supersede or skip'],
    [
      2,
      [...daily, '--deliverable', '--missed', 'skip', '--on-open', 'skip'],
      'OPTION_INVALID: --deliverable: stands beside --missed',
    ],
    [2, [...daily, '--deliverable', '--every', '1h'], 'OPTION_INVALID: --every: stands beside --cron'],
    [2, [...daily.with(5, 'every 1h'), '--deliverable'], 'an interval is --every'],
    [
      2,
      [...daily, '--deliverable', '--start-at', '2099-01-02', '--end-at', '2099-01-01'],
      '--end-at: is not after --start-at',
    ],
    [2, [...daily, '--deliverable', '--start-at', '2026-02-30'], 'USAGE: --start-at: "2026-02-30" is no'],
    [2, ['simulate', 'there', '--until', '2027-02-30T00:00Z'], 'USAGE: --until: "2027-02-30T00:00Z" is no'],
    [2, [...daily, '--deliverable', '--timezone', 'Berlin'], 'OPTION_INVALID: --timezone'],
    [2, [...daily, '--deliverable', '--start-at', 'noon'], 'USAGE: --start-at: "noon" is no instant'],
    [2, [...daily, '--deliverable', '--max-unclaimed-age', '0'], 'OPTION_INVALID: --max-unclaimed-age'],
    [2, [...daily.slice(0, -1), '{', '--deliverable'], 'PAYLOAD_INVALID: --payload: is not JSON'],
    [2, [...daily, '--deliverable', '--reason', ''], 'USAGE: --reason: is empty'],
    [2, ['create'], 'USAGE: NAME: is missing'],
    [2, ['edit', 'there', '--clear', 'cron'], 'USAGE: --clear: "cron" is none of queue'],
    [2, ['retire', 'there'], 'OPTION_INVALID: --reason: is missing: this leaves the instant'],
    [2, ['resume', 'there', '--drop-missed'], 'OPTION_INVALID: --reason: is missing: this drops'],
    [2, ['simulate', 'there'], 'USAGE: --until: is missing'],
    [2, ['backfill', 'there', '--from', '2026-01-01', '--to', '2999-01-01'], 'OPTION_INVALID: --to: is not'],
    [
      1,
      [...daily.with(3, 'stranger'), '--deliverable'],
      'ACTOR_UNKNOWN: --actor: actor "stranger" is unknown',
    ],
    [1, ['pause', 'nobody'], 'SCHEDULE_UNKNOWN: NAME: there is no schedule of this name'],
    [
      1,
      [...daily.with(1, 'there'), '--deliverable'],
      'SCHEDULE_EXISTS: NAME: a schedule of this name exists',
    ],
  ])('exit code %i: taskq schedules %j', async (code, args, said) => {
    await create('there', '--cron', '0 0 * * *', '--deliverable')
    await database().rows(`update taskq.schedules set next_fire_at = date_trunc('day', now(), 'UTC')`)
    const before = await database().rows('select * from taskq.schedules')
    const ended = await run('schedules', ...args)
    expect(ended.stderr).toContain(said)
    expect(ended.code).toBe(code)
    expect(await database().rows('select * from taskq.schedules')).toEqual(before)
    expect(await audited()).toHaveLength(1)
  })

  test('exit code 4 at the wrong target', async () => {
    const env = { ...here().env, TASKQ_ENVIRONMENT: 'production' }
    const ended = await taskq(['schedules', ...daily, '--deliverable', '--json'], { env })
    expect(ended).toMatchObject({ code: 4, json: { error: { code: 'WRONG_TARGET' } } })
    expect(await database().rows('select from taskq.schedules')).toEqual([])
  })
})
