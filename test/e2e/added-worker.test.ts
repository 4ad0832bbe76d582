import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Stack } from 'aws-cdk-lib'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { LocalCloud } from '../../functions/dev/local-cloud.ts'
import type { LocalFunction } from '../../functions/dev/local-functions.ts'
import { readStack } from '../../functions/dev/local-stack.ts'
import { createClient } from '../../functions/entry/client.ts'
import { buildBundles } from '../../infra/bundles.ts'
import { newApp } from '../../infra/synthesis.ts'
import { readSettings } from '../../shared/core/read-settings.ts'
import { useDatabase } from '../support/database.ts'
import { secretArn } from '../support/synthesis.ts'
import { queueIn } from '../support/templates.ts'
import { sendMail } from '../support/user-code/definitions.ts'

const database = useDatabase()
const folder = mkdtempSync(join(tmpdir(), 'taskq-added-worker-'))
const workerSecret = secretArn.replace('example', 'worker')
const userCode = (file: string) => join(import.meta.dirname, '../support/user-code', file)
let cloud: LocalCloud
let worker: LocalFunction

/** A stack with a queue and a worker, as a user writes one, deployed beside this database. */
beforeAll(async () => {
  await database().rows('drop schema taskq cascade')
  await buildBundles()
  const app = newApp({ outdir: folder })
  const databaseSecrets = { worker: workerSecret }
  const queue = queueIn(new Stack(app, 'Shop'), {
    definitions: { entry: userCode('definitions.ts') },
    databaseSecrets,
  })
  // Its code serves the queue of its actor; what is attached says another one, and that is what counts.
  queue.addWorker('Mail', { entry: userCode('worker.ts'), queues: ['urgent'] })
  app.synth()
  const stack = readStack(folder, { region: 'eu-central-1', account: '111122223333' })
  const [found] = [...stack.functions.values()].filter(({ id }) => id.startsWith('TaskQMail'))
  worker = found as LocalFunction
  const { url } = database()
  cloud = await LocalCloud.start({
    stack,
    secrets: { [secretArn]: url, [workerSecret]: url },
    onLine: () => {},
  })
  await cloud.deploy()
})
afterAll(async () => {
  await cloud?.stop()
  rmSync(folder, { recursive: true })
})

test('a worker that is added to a stack works on its queues when its rule starts it', async () => {
  const settings = readSettings({ ...worker.environment, TASKQ_DATABASE_URL: database().url })
  const client = await createClient({ settings })
  onTestFinished(() => client.close())
  const urgent = await client.enqueue(sendMail, { to: 'ada' }, { queue: 'urgent' })
  const ordinary = await client.enqueue(sendMail, { to: 'bob' })
  expect(await cloud.invoke(worker, cloud.scheduledEvent(worker))).toMatchObject({ succeeded: 1 })
  expect(await client.getJob(urgent.id)).toMatchObject({ status: 'succeeded', result: { sentTo: 'ada' } })
  expect(await client.getJob(ordinary.id)).toMatchObject({ status: 'pending' })
})
