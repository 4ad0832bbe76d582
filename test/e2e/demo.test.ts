import { expect, test } from 'vitest'
import { startTaskq, taskq } from './cli-process.ts'
import { useFolder } from './own-folder.ts'

const folder = useFolder()

const failedStep = (result: Record<string, unknown>) =>
  (result['steps'] as { passed: boolean }[] | undefined)?.find(step => !step.passed)

test('the tour passes in a minute, and leaves nothing behind', { timeout: 300_000 }, async () => {
  const { code, json, stderr } = await taskq(['demo', '--json'], { cwd: folder().path, env: folder().env })
  expect({ code, stderr, failed: failedStep(json) }).toMatchObject({ code: 0, failed: undefined })
  expect(json).toMatchObject({
    passed: true,
    steps: [
      { name: 'start', passed: true },
      { passed: true, facts: { enqueued: 329, transactions: 1, 'succeeded, payload equal': 329 } },
      { passed: true, facts: { reclaimed: 200, promoted: 200, 'finished by another worker': 200 } },
      { passed: true, facts: { early: 0, 'late by at least ms': expect.any(Number) } },
      { passed: true, facts: { jobs: 569, attempts: 769, events: 769, lost: 0, twice: 0 } },
      {
        passed: true,
        facts: { instances: 14, 'superseded by the next': 13, 'the pager rang on day': 3 },
      },
      {
        passed: true,
        facts: { 'posts fired': 1, 'posts missed': 13, 'reports fired, all of them': 14 },
      },
      { passed: true, facts: { 'progress reset': 'yes', attempts: 2 } },
    ],
  })
  expect(folder().contents()).toEqual([])
})

test('an interrupted tour says so, fails, and leaves nothing behind', async () => {
  const { child, printed, ended } = startTaskq(['demo'], { cwd: folder().path, env: folder().env })
  await expect.poll(() => printed.stdout, { timeout: 60_000 }).toContain('database:')
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 1, stdout: expect.stringContaining('interrupted') })
  expect(folder().contents()).toEqual([])
})
