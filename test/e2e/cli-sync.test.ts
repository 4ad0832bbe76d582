import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { useCommand } from './cli-command.ts'
import { taskq } from './cli-process.ts'
import { useFolder } from './own-folder.ts'

const { database, here } = useCommand()
const folder = useFolder()

const client = new URL('../../functions/entry/client.ts', import.meta.url).href

/** A definitions module whose payload schema needs no package. */
const definitions = (actors: string) => `import { defineActor } from '${client}'
  const payload = { '~standard': { version: 1, vendor: 'test', validate: value => ({ value }) } }
  const send = defineActor({ name: 'send', queue: 'mail', payload, retry: { maxAttempts: 9 } })
  const print = defineActor({ name: 'print', payload })
  export const actors = ${actors}`

const write = (name: string, text: string) => writeFileSync(join(folder().path, name), text)

const sync = (...args: string[]) => taskq(['sync', ...args], { ...here(), cwd: folder().path })

beforeEach(() => {
  write('package.json', JSON.stringify({ type: 'module', taskq: { definitions: './jobs/definitions.ts' } }))
  mkdirSync(join(folder().path, 'jobs'), { recursive: true })
  write('jobs/definitions.ts', definitions('{ send, print }'))
})

describe('taskq sync', () => {
  test('stores what the module of package.json exports, and says so as one object', async () => {
    expect(await sync('--json')).toMatchObject({
      code: 0,
      json: { schema: 'taskq', created: ['print'], changed: ['send'], unchanged: 0 },
    })
    expect(await sync('--json')).toMatchObject({ json: { created: [], changed: [], unchanged: 2 } })
    const rows = await database().rows('select actor, queue, max_attempts from taskq.actors order by actor')
    expect(rows).toEqual([
      { actor: 'print', queue: 'default', max_attempts: 5 },
      { actor: 'send', queue: 'mail', max_attempts: 9 },
    ])
  })

  test('or what another module exports', async () => {
    write('other.mjs', definitions('[print]'))
    expect(await sync('--definitions', 'other.mjs')).toMatchObject({
      code: 0,
      stdout: 'schema taskq: created print; 0 unchanged\n',
    })
  })

  test.each([
    ['is missing, and package.json has no text at taskq.definitions', '{}', ''],
    ['is missing, and package.json is not JSON', '{', ''],
    ['./jobs/definitions.ts cannot be imported: a defect', undefined, "throw new Error('a defect')"],
    ['OPTION_INVALID: actors:', undefined, 'export default []'],
    ['OPTION_INVALID: actors[0]', undefined, 'export const actors = [1]'],
    ['OPTION_INVALID: actors[1]: is named "send"', undefined, definitions('[send, send]')],
  ])('refuses with exit code 2, nothing written: %s', async (said, manifest, module) => {
    if (manifest !== undefined) write('package.json', manifest)
    write('jobs/definitions.ts', module)
    const ended = await sync()
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(said) })
    expect(await database().rows('select max_attempts from taskq.actors')).toEqual([{ max_attempts: 5 }])
  })

  test('at the wrong target exits 4 and writes nothing', async () => {
    await database().rows(`update taskq.installation set environment = 'staging'`)
    const env = { ...here().env, TASKQ_ENVIRONMENT: 'production' }
    expect(await taskq(['sync'], { env, cwd: folder().path })).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('WRONG_TARGET'),
    })
    expect(await database().rows('select max_attempts from taskq.actors')).toEqual([{ max_attempts: 5 }])
  })
})
