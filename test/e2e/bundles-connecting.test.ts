import { randomBytes } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../functions/dev/kept-process.ts'
import { useDatabase } from '../support/database.ts'
import { type Deployment, runDeployment } from '../support/deployment.ts'
import { type SynthesizedStack, synthesized } from '../support/synthesis.ts'

const database = useDatabase()
let stack: SynthesizedStack
const running: Deployment[] = []

beforeAll(async () => {
  await database().rows('drop schema taskq cascade')
  stack = await synthesized()
  const deployment = await runHere(database().url)
  await deployment.deploy()
})
afterEach(async () => {
  for (const deployment of running.splice(0)) await deployment.stop()
})

async function runHere(secret: string, environment: Record<string, string> = {}): Promise<Deployment> {
  const deployment = await runDeployment(stack, secret, environment)
  running.push(deployment)
  return deployment
}

const startedAt = () =>
  database().rows('select function, last_started_at from taskq.sweep_state order by function')

describe('a database that cannot be reached', () => {
  test('is thrown by its code, and counted, and its password is told nowhere', async () => {
    const nobody = `postgres://app:hunter2@127.0.0.1:${await freePort()}/app`
    const deployment = await runHere(nobody, { TASKQ_CONNECT_TIMEOUT: '500ms' })
    const failure = await deployment.failureOf(deployment.start('promotion'))
    expect(failure).toMatchObject({ errorType: 'DATABASE_UNREACHABLE', code: 'DATABASE_UNREACHABLE' })
    expect(failure.errorMessage).toMatch(/^no connection to 127\.0\.0\.1:\d+\/app: .*ECONNREFUSED/)
    const lines = await deployment.printed(1)
    expect(lines.map(line => JSON.parse(line))).toMatchObject([{ Schema: 'taskq', DatabaseUnreachable: 1 }])
    expect(JSON.stringify([failure, lines])).not.toContain('hunter2')
  })

  test('ends a deployment with the next step', async () => {
    const deployment = await runHere(`postgres://app:hunter2@127.0.0.1:${await freePort()}/app`)
    const failure = await deployment.failureOf(deployment.invoke('migrate', {}))
    expect(failure).toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      errorMessage: expect.stringMatching(/check that the secret holds .* deploy again$/),
    })
  })
})

describe('the secret', () => {
  test('in the form of RDS is read as well', async () => {
    const { hostname: host, port, username, password, pathname } = new URL(database().url)
    const ofRds = {
      engine: 'postgres',
      host,
      port: Number(port),
      username,
      password,
      dbname: pathname.slice(1),
    }
    const deployment = await runHere(JSON.stringify(ofRds))
    expect(await deployment.start('deadline_exceeded')).toMatchObject({ outcome: 'drained' })
  })

  test('that holds something else is an error that names the setting and repeats nothing of it', async () => {
    const deployment = await runHere('{"apiKey": "hunter2"}')
    const failure = await deployment.failureOf(deployment.start('deadline_exceeded'))
    expect(failure).toMatchObject({
      code: 'SETTING_INVALID',
      errorMessage: expect.stringMatching(/^TASKQ_DATABASE_SECRET_ARN: /),
    })
    expect(JSON.stringify([failure, await deployment.printed(0)])).not.toContain('hunter2')
  })

  test('that was rotated is read anew by a function that is warm', async () => {
    const role = `app_${randomBytes(6).toString('hex')}`
    await database().rows(`create role ${role} superuser login password 'one'`)
    const as = (password: string) => {
      const url = new URL(database().url)
      Object.assign(url, { username: role, password })
      return url.href
    }
    try {
      const deployment = await runHere(as('one'))
      expect(await deployment.start('deadline_exceeded')).toMatchObject({ outcome: 'drained' })
      await database().rows(`alter role ${role} password 'two'`)
      const refused = await deployment.failureOf(deployment.start('deadline_exceeded'))
      expect(refused).toMatchObject({
        code: 'DATABASE_UNREACHABLE',
        errorMessage: expect.stringContaining('28P01'),
      })
      deployment.setSecret(as('two'))
      expect(await deployment.start('deadline_exceeded')).toMatchObject({ outcome: 'drained' })
    } finally {
      await database().rows(`drop role ${role}`)
    }
  })
})

describe('a setting', () => {
  test('that is wrong fails the invocation by its name, and nothing is written', async () => {
    const deployment = await runHere(database().url, { TASKQ_LOCK_LEASE: '60' })
    const before = await startedAt()
    const failure = await deployment.failureOf(deployment.start('promotion'))
    expect(failure).toMatchObject({
      errorType: 'SETTING_INVALID',
      code: 'SETTING_INVALID',
      errorMessage: expect.stringMatching(/^TASKQ_LOCK_LEASE: "60" is not a duration with its unit/),
    })
    expect(await startedAt()).toEqual(before)
  })

  test('of another version is one warning in the log, and no failure', async () => {
    const deployment = await runHere(database().url, { TASKQ_NEXT_YEARS_SETTING: '1' })
    const ask = () =>
      deployment.invoke('promotion', { trigger: 'manual', requestedBy: 'ada', reason: 'twice' })
    expect([await ask(), await ask()]).toMatchObject([{ outcome: 'drained' }, { outcome: 'drained' }])
    const warnings = (await deployment.printed(3)).filter(line => line.includes('TASKQ_NEXT_YEARS_SETTING'))
    expect(warnings.map(line => JSON.parse(line))).toMatchObject([{ level: 'WARN' }])
  })
})

test('a function that is told to end while it waits for something due ends well, and at once', async () => {
  const deployment = await runHere(database().url)
  await database().rows(`insert into taskq.jobs (actor, status, scheduled_at)
    values ('test', 'scheduled', clock_timestamp() + interval '40 seconds')`)
  const waiting = deployment.start('promotion')
  const stateWritten = async () =>
    (
      await database().rows(`select from taskq.sweep_state where function = 'promotion'
      and last_success_at > statement_timestamp() - interval '10 seconds'`)
    ).length
  await database().rows(`update taskq.sweep_state set last_success_at = null`)
  await expect.poll(stateWritten, { timeout: 10_000 }).toBe(1)
  await deployment.stop()
  expect(await waiting).toMatchObject({ rows: 0, pulses: 1 })
})
