import { describe, expect, test } from 'vitest'
import { useCommand } from './cli-command.ts'
import { startTaskq } from './cli-process.ts'

/** A process on a busy machine takes its time to start. */
const patiently = { timeout: 60_000 }

const { database, here, dueJobs, countJobs, slowDown } = useCommand()

describe.each(['SIGINT', 'SIGTERM'] as const)('%s', signal => {
  test('the first lets the running batch end and prints the result', async () => {
    await dueJobs(5000)
    const args = ['run', 'promotion', '--json', '--batch-size', '1', '--max-batches', '10000']
    const { child, ended } = startTaskq(args, here())
    await expect.poll(() => countJobs('pending'), patiently).toBeGreaterThan(0)
    child.kill(signal)
    const { code, json } = await ended
    expect({ code, ...json }).toMatchObject({ code: 0, outcome: 'stopped' })
    expect(json['rows']).toBe(await countJobs('pending'))
    expect(json['rows']).toBeLessThan(5000)
  })

  test('the second ends at once', async () => {
    await dueJobs(1)
    await slowDown(8)
    const env = { ...here().env, TASKQ_EVENT_WRITER_STATEMENT_TIMEOUT_MS: '10000' }
    const { child, printed, ended } = startTaskq(['run', 'promotion', '--json'], { env })
    const sleeping = `select 1 from pg_stat_activity 
      where wait_event = 'PgSleep' and datname = current_database()`
    await expect.poll(() => database().rows(sleeping), patiently).toHaveLength(1)
    child.kill(signal)
    await expect.poll(() => printed.stderr, patiently).toContain('once more ends at once')
    const again = setInterval(() => child.kill(signal), 50)
    const { code, stdout } = await ended
    clearInterval(again)
    expect({ code, stdout }).toEqual({ code: signal === 'SIGINT' ? 130 : 143, stdout: '' })
    expect(await countJobs('pending')).toBe(0)
  })
})
