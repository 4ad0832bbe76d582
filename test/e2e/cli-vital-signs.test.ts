import { beforeEach, describe, expect, test } from 'vitest'
import { insertJobs } from '../support/jobs.ts'
import { unclaimedJob } from '../support/watching.ts'
import { useCommand } from './cli-command.ts'

const { database, run } = useCommand()

beforeEach(async () => {
  await insertJobs(database(), unclaimedJob('1 hour', { queue: `'mail'`, actor: `'send'` }), 3)
})

describe('taskq run vital_signs', () => {
  test('prints the object that the function returns', async () => {
    const { code, json, stderr } = await run('run', 'vital_signs', '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(json).toEqual({
      function: 'vital_signs',
      schema: 'taskq',
      trigger: 'manual',
      outcome: 'drained',
      gauges: expect.objectContaining({ UnclaimedOverLimit: 1, GaugeReadFailed: 0 }),
      failed: [],
      worst: expect.objectContaining({ QueuesUnserved: [{ queue: 'mail', claimAgeSeconds: null }] }),
      durationMs: expect.any(Number),
    })
  })

  test('tells people what is not zero, and of what', async () => {
    const { stdout } = await run('run', 'vital_signs', '--dry-run')
    expect(stdout).toContain('vital_signs drained: told below')
    expect(stdout).toContain('  UnclaimedOverLimit 1\n    queue mail, ')
    expect(stdout).not.toContain('SweepsStale')
  })

  test('tells people of five of many, and of how many more there are', async () => {
    const queue = (first: number) => ({ queue: `'q' || n + ${first}` })
    await insertJobs(database(), unclaimedJob('2 hours', queue(0)), 7)
    const { stdout } = await run('run', 'vital_signs')
    expect(stdout).toMatch(/ {2}UnclaimedOverLimit 8\n( {4}queue q\d.*\n){5} {4}and 3 more\n {2}\S/)
    await insertJobs(database(), unclaimedJob('2 hours', queue(7)), 50)
    expect((await run('run', 'vital_signs')).stdout).toContain('    and at least 45 more\n')
  })

  test.each([['--max-batches', '3'], ['--batch-size', '3'], ['--max-seconds', '3'], ['--reset-breaker']])(
    'refuses %s, which means nothing to it',
    async (...flag) => {
      const { code, stderr } = await run('run', 'vital_signs', ...flag)
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`USAGE: ${flag[0]}: `) })
    },
  )
})

test('taskq status tells people why it is not healthy, and exits 1 where it is asked to', async () => {
  const { code, stdout } = await run('status', '--fail-on', 'degraded')
  expect(code).toBe(1)
  expect(stdout).toContain(
    'schema taskq: not healthy\n  queue mail: its oldest unclaimed job is due for 60 min',
  )
  expect(stdout).toContain('mail: 3 pending, 0 scheduled, 0 running, the oldest unclaimed for 60 min')
  expect(stdout).toContain('feed: up to date\noldest snapshot: none over 5 min')
  expect((await run('status')).code).toBe(0)
})
