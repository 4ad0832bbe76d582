import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { migrate } from '../../shared/db/migrate.ts'
import { scheduled } from '../../shared/sweeps/index.ts'
import { useDatabase } from '../support/database.ts'
import { type Deployment, runDeployment } from '../support/deployment.ts'
import { laterFile, optionsFor } from '../support/migrating.ts'
import { type SynthesizedStack, secretArn, synthesized } from '../support/synthesis.ts'

const database = useDatabase()
const definitions = fileURLToPath(new URL('../support/user-code/definitions.ts', import.meta.url))
const maintenance = secretArn.replace('example', 'maintenance')
const purposes = scheduled.map(({ purpose }) => purpose)
const running: Deployment[] = []
let stack: SynthesizedStack

beforeAll(async () => {
  await database().rows('drop schema taskq cascade')
  stack = await synthesized({ definitions, databaseSecrets: { maintenance } })
})
afterEach(() => Promise.all(running.splice(0).map(each => each.stop())))

/** The stack beside this database; what is added to a function, and what the secret of maintenance holds. */
async function run(
  added: Parameters<typeof runDeployment>[2] = {},
  maintenanceUrl = database().url,
): Promise<Deployment> {
  const deployment = await runDeployment(stack, database().url, added, { [maintenance]: maintenanceUrl })
  running.push(deployment)
  return deployment
}

const failureOf = (deployed: Promise<void>) =>
  deployed.then(
    () => 'it succeeded',
    (error: Error) => error.message,
  )

test('a deployment migrates, stores the actors of the definitions, and asks every function', async () => {
  const deployment = await run()
  await deployment.deploy()
  const stored = await database().rows('select actor, queue, max_attempts from taskq.actors')
  expect(stored).toEqual([{ actor: 'send-mail', queue: 'mail', max_attempts: 7 }])
  const lines = (await deployment.printed(3 + purposes.length)).map(line => JSON.parse(line))
  // Lines of different functions come as their threads print them.
  expect(lines).toHaveLength(3 + purposes.length)
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ message: 'migrate done' }),
      expect.objectContaining({ message: 'sync done', created: ['send-mail'] }),
      ...purposes.map(purpose => expect.objectContaining({ function: purpose, trigger: 'smoke' })),
      expect.objectContaining({ message: 'smoke done', functions: purposes, failures: [] }),
    ]),
  )
})

test('a deployment may be done again, and changes nothing then', async () => {
  const deployment = await run()
  await deployment.deploy()
  expect(await deployment.invoke('migrate', {})).toMatchObject({ applied: [] })
  expect(await deployment.invoke('sync', {})).toMatchObject({ created: [], changed: [], unchanged: 1 })
})

describe('a deployment fails', () => {
  test('by the name of each function whose secret the database refuses', async () => {
    const url = new URL(database().url)
    Object.assign(url, { username: `nobody_${randomBytes(4).toString('hex')}`, password: 'hunter2' })
    const failure = await failureOf((await run({}, url.href)).deploy())
    expect(failure).toMatch(/^TaskQSmokeRun\w+: (\d+) of \1 functions cannot work: /)
    for (const purpose of purposes) expect(failure).toContain(`${purpose}: no connection to ${url.host}`)
    expect(failure).not.toContain('hunter2')
  })

  test('by the name of the one function that cannot work, and of no other', async () => {
    const isPromotion = (id: string) => id.startsWith('TaskQPromotion')
    const deployment = await run(id => (isPromotion(id) ? { TASKQ_LOCK_LEASE: '60' } : {}))
    const failure = await failureOf(deployment.deploy())
    expect(failure).toMatch(
      /: 1 of \d+ functions cannot work: promotion: TASKQ_LOCK_LEASE: "60" is not a duration/,
    )
    expect(failure).toMatch(/mend the cause and deploy again$/)
  })

  test('by the name of the one function whose column is gone', async () => {
    await database().rows('alter table taskq.jobs rename column reclaim_at to gone')
    try {
      const failure = await failureOf((await run()).deploy())
      expect(failure).toMatch(
        /: 1 of \d+ functions cannot work: expired_locks: column .*reclaim_at.* does not exist/,
      )
    } finally {
      await database().rows('alter table taskq.jobs rename column gone to reclaim_at')
    }
  })

  test('at another installation’s database, before anything is changed', async () => {
    const [pinned] = await database().rows('select installation_id as id from taskq.installation')
    await database().rows(`update taskq.installation set installation_id = gen_random_uuid()`)
    await database().rows(`delete from taskq.actors`)
    try {
      const failure = await failureOf((await run()).deploy())
      expect(failure).toMatch(/^TaskQ-TaskQMigrateFunction\w+: TaskQError: /)
      expect(failure).toContain('installationId')
      expect(await database().rows('select actor from taskq.actors')).toEqual([])
    } finally {
      await database().rows('update taskq.installation set installation_id = $1', [pinned?.['id']])
    }
  })

  test('by what sync cannot store, and then nobody is asked any more', async () => {
    const isSync = (id: string) => id.startsWith('TaskQSync')
    const deployment = await run(id => (isSync(id) ? { TASKQ_LOCK_LEASE: '60' } : {}))
    const failure = await failureOf(deployment.deploy())
    expect(failure).toMatch(/^TaskQ-TaskQSync\w+: TaskQError: TASKQ_LOCK_LEASE: .* deploy again$/)
    const lines = await deployment.printed(1)
    expect(lines.map(line => JSON.parse(line).message)).toEqual(['migrate done'])
  })
})

describe('after a roll-back', () => {
  test('the migrate of before leaves a newer schema as it is, and the deployment is done', async () => {
    const newer = laterFile(99, 'newer', 'create table {schema}.newer ()')
    await migrate(await database().connect(), optionsFor(database(), [newer]))
    const deployment = await run()
    await deployment.deploy()
    expect(await deployment.invoke('migrate', {})).toMatchObject({ applied: [] })
    expect(
      await database().rows(`select schema_version, to_regclass('taskq.newer')::text as newer
        from taskq.installation`),
    ).toEqual([{ schema_version: 99, newer: 'taskq.newer' }])
    expect(await deployment.start('promotion')).toMatchObject({ outcome: 'drained' })
  })
})
