import { describe, expect, test } from 'vitest'
import { useCommand } from './cli-command.ts'
import { taskq } from './cli-process.ts'

const { here, run, dueJobs, countJobs } = useCommand()

describe('exit code 2: usage or settings, named on stderr, nothing written', () => {
  test.each([
    [[], 'USAGE: VERB'],
    [['frobnicate'], 'USAGE: VERB: "frobnicate"'],
    [['run'], 'USAGE: FUNCTION: is missing'],
    [['run', 'vacuum'], 'USAGE: FUNCTION: "vacuum"'],
    [['run', 'promotion', 'again'], 'USAGE: "again"'],
    [['run', 'promotion', '--frob'], 'USAGE: --frob'],
    [['run', 'promotion', '--batch-size', '0'], 'USAGE: --batch-size'],
    [['run', 'promotion', '--max-batches', '10001'], 'USAGE: --max-batches'],
    [['run', 'promotion', '--max-seconds', '1.5'], 'USAGE: --max-seconds'],
    [['status', '--database-url', 'mysql://x'], 'SETTING_INVALID: --database-url'],
    [['status', '--schema', 'Bad Name'], 'SETTING_INVALID: --schema'],
    [['status', '--fail-on', 'rain'], 'USAGE: --fail-on'],
    [['enqueue', 'send'], 'USAGE: --payload'],
    [['enqueue', 'send', '--payload', '{"a":'], 'PAYLOAD_INVALID: --payload'],
    [['enqueue', 'send', '--payload', '@no-such-file'], 'USAGE: --payload'],
    [['enqueue', 'send', '--payload', '{"a":"\\u0000"}'], 'TEXT_INVALID: --payload.a'],
    [['enqueue', 'send', '--payload', '1', '--delay', '5'], 'OPTION_INVALID: --delay'],
    [['enqueue', 'send', '--payload', '1', '--priority', 'high'], 'USAGE: --priority'],
    [['enqueue', 'send', '--many', '--key', 'k'], 'USAGE: --key'],
    [['enqueue', 'send', '--many'], 'USAGE: --many: stdin holds no line'],
    [['migrate', '--prebuild', '--status'], 'USAGE: --prebuild'],
  ])('taskq %j', async (args, said) => {
    await dueJobs(1)
    const ended = await run(...args)
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain(said)
    expect(ended.stdout).toBe('')
    expect([await countJobs('scheduled'), await countJobs('pending')]).toEqual([1, 0])
  })

  test('a setting that there is none of, with the nearest that there is', async () => {
    const env = { ...here().env, TASKQ_LOCK_LEASES: '1m' }
    expect((await taskq(['run', 'promotion'], { env })).code).toBe(2)
    const ended = await taskq(['status', '--json'], { env })
    expect(ended).toMatchObject({
      code: 2,
      json: { error: { code: 'SETTING_INVALID', field: 'TASKQ_LOCK_LEASES' } },
    })
    expect(ended.stderr).toContain('did you mean TASKQ_LOCK_LEASE?')
  })

  test('no address at all', async () => {
    const ended = await taskq(['status'])
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('TASKQ_DATABASE_URL')
  })

  test('a bad line of many is named, and none is stored', async () => {
    const ended = await taskq(['enqueue', 'send', '--many'], { ...here(), stdin: '{"a":1}\n{"a":\n' })
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('line 2: is not JSON') })
    expect(await countJobs('pending')).toBe(0)
  })
})
