import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { addSchedule, made, standingOf } from '../support/schedules.ts'
import { useCommand } from './cli-command.ts'
import { taskq } from './cli-process.ts'
import { useFolder } from './own-folder.ts'

const { database, here } = useCommand()
const folder = useFolder()

/** Factories as nobody should write them, and one that is as it should be. */
const definitions = `import { readFile } from 'node:fs/promises'
  export const payloadFactories = {
    good: async () => ({ bytes: (await readFile(new URL(import.meta.url))).length }),
    stray: () => {
      setTimeout(() => Promise.reject(new Error('a stray rejection')))
      setTimeout(() => { throw new Error('a stray error') })
      return {}
    },
    hostile: () => { throw { toString() { throw new Error('hostile') } } },
    blocks: () => { const end = Date.now() + 700; while (Date.now() < end); return {} },
  }`

beforeEach(async () => {
  await database().rows('truncate taskq.schedules, taskq.jobs cascade')
  writeFileSync(join(folder().path, 'definitions.mjs'), definitions)
})

const runCron = () => {
  const { env } = here()
  return taskq(['run', 'cron', '--definitions', 'definitions.mjs', '--json'], {
    cwd: folder().path,
    env: { ...env, TASKQ_CRON_PAYLOAD_FACTORY_TIMEOUT: '500ms' },
  })
}

test.each([
  ['leaves errors behind', 'stray', { jobs: 1, failures: 0 }],
  [
    'throws what cannot be read',
    'hostile',
    { jobs: 0, failures: 1, error: 'the thrown value could not be read' },
  ],
  ['blocks the process', 'blocks', { jobs: 0, failures: 1, error: 'its payload factory took over 500 ms' }],
])('a factory that %s keeps no other schedule from firing', async (_, factory, expected) => {
  const bad = await addSchedule(database(), made(factory))
  const good: string[] = []
  for (let n = 0; n < 3; n++) good.push(await addSchedule(database(), made('good')))
  const { code, json, stderr } = await runCron()
  expect({ code, json, stderr }).toMatchObject({ code: 0, json: { outcome: 'drained', function: 'cron' } })
  expect(await standingOf(database(), bad)).toMatchObject(expected)
  for (const id of good) expect(await standingOf(database(), id)).toMatchObject({ jobs: 1, failures: 0 })
})
