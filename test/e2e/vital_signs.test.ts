import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { scheduled } from '../../shared/sweeps/index.ts'
import { useDatabase } from '../support/database.ts'
import { type Deployment, runDeployment } from '../support/deployment.ts'
import { insertJobs, pendingJob } from '../support/jobs.ts'
import { type Login, makeLogin } from '../support/logins.ts'
import { secretArn, synthesized } from '../support/synthesis.ts'
import { unclaimedJob } from '../support/watching.ts'

const database = useDatabase()
const maintenance = secretArn.replace('example', 'maintenance')
let login: Login
let deployment: Deployment

/** The stack whose scheduled functions have a login of the role `maintenance`, and no more. */
beforeAll(async () => {
  await database().rows('drop schema taskq cascade')
  const stack = await synthesized({ databaseSecrets: { maintenance } })
  login = await makeLogin(database(), 'in role taskq_maintenance')
  deployment = await runDeployment(stack, database().url, {}, { [maintenance]: login.url })
  await deployment.deploy()
})
afterAll(async () => {
  await deployment.stop()
  await login.drop()
})
beforeEach(() => database().rows('truncate taskq.jobs, taskq.queues, taskq.actors cascade'))

const byHand = { trigger: 'manual', requestedBy: 'ada', reason: 'a look' }
const lines = async (count: number) => (await deployment.printed(count)).map(line => JSON.parse(line))

describe('vital_signs', () => {
  test('publishes its heartbeat in every run, and returns what its line of the log says', async () => {
    // What the deployment itself printed: migrate, each function's smoke event, and smoke.
    await deployment.printed(scheduled.length + 2)
    const result = await deployment.start('vital_signs')
    expect(result).toMatchObject({
      function: 'vital_signs',
      schema: 'taskq',
      trigger: 'schedule',
      outcome: 'drained',
      gauges: { SweepsStale: 0, GaugeReadFailed: 0 },
      failed: [],
      worst: {},
    })
    const [metrics, told, ...more] = await lines(2)
    expect(more).toEqual([])
    expect(metrics).toEqual({ _aws: expect.anything(), Schema: 'taskq', SweepsStale: 0 })
    expect(metrics._aws.CloudWatchMetrics).toEqual([
      { Namespace: 'TaskQ', Dimensions: [['Schema']], Metrics: [{ Name: 'SweepsStale', Unit: 'Count' }] },
    ])
    expect(told).toMatchObject({ level: 'INFO', message: 'vital_signs drained', ...(result as object) })
  })

  test('publishes what is not well, by hand too, and says which queue it is', async () => {
    await insertJobs(database(), unclaimedJob('1 hour', { queue: `'mail'` }), 3)
    await deployment.invoke('vital_signs', byHand)
    const [metrics, told] = await lines(2)
    expect(metrics).toMatchObject({ UnclaimedOverLimit: 1, QueuesUnserved: 1, JobsStranded: 3 })
    expect(metrics.OldestUnclaimedAgeSeconds).toBeGreaterThanOrEqual(3600)
    expect(told).toMatchObject({ requestedBy: 'ada', worst: { UnclaimedOverLimit: [{ queue: 'mail' }] } })
  })

  test('reads, but publishes nothing, for a dry run or a deployment’s smoke event', async () => {
    await insertJobs(database(), pendingJob())
    for (const event of [{ ...byHand, dryRun: true }, { trigger: 'smoke' }])
      expect(await deployment.invoke('vital_signs', event)).toMatchObject({ gauges: { QueuesUnserved: 1 } })
    expect((await lines(2)).map(line => line.message)).toEqual(Array(2).fill('vital_signs drained'))
  })

  test('warns of a gauge that cannot be read, names it, and counts it', async () => {
    await database().rows('revoke select on taskq.actors from taskq_maintenance')
    await deployment.start('vital_signs')
    await database().rows('grant select on taskq.actors to taskq_maintenance')
    const [unread, metrics, told] = await lines(3)
    expect(unread).toMatchObject({ level: 'WARN', message: 'JobsStranded could not be read' })
    expect(metrics).toMatchObject({ SweepsStale: 0, GaugeReadFailed: 1 })
    expect(told).toMatchObject({ level: 'WARN', failed: ['JobsStranded'] })
  })

  test('refuses what only a sweep can do, by name', async () => {
    const asked = deployment.invoke('vital_signs', { ...byHand, batchSize: 10 })
    expect(await deployment.failureOf(asked)).toMatchObject({
      code: 'EVENT_INVALID',
      errorMessage: 'batchSize: is no member of this event',
    })
  })

  test('throws, and counts, at another installation’s database', async () => {
    const [pinned] = await database().rows('select installation_id as id from taskq.installation')
    await database().rows('update taskq.installation set installation_id = gen_random_uuid()')
    const failure = await deployment.failureOf(deployment.start('vital_signs'))
    await database().rows('update taskq.installation set installation_id = $1', [pinned?.['id']])
    expect(failure).toMatchObject({ code: 'WRONG_TARGET' })
    expect(await lines(1)).toMatchObject([{ Schema: 'taskq', WrongTarget: 1 }])
  })
})
