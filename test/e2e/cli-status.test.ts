import { beforeEach, describe, expect, test } from 'vitest'
import { insertJobs } from '../support/jobs.ts'
import { insertRows } from '../support/rows.ts'
import { addSchedule, scheduleOf } from '../support/schedules.ts'
import { unclaimedJob } from '../support/watching.ts'
import { useCommand } from './cli-command.ts'

const { database, run } = useCommand()

beforeEach(() => database().rows('truncate taskq.schedules'))

describe('schedules in the status', () => {
  test('are none where there is none, and a number where all are well', async () => {
    expect((await run('status')).stdout).toMatch(/^schedules: none$/m)
    await insertRows(database(), 'schedules', scheduleOf, 300)
    const { stdout } = await run('status')
    expect(stdout).toMatch(/^schedules: 300, 0 not well$/m)
    expect(stdout).not.toContain('(post)')
  })

  test('are named where they owe work, were switched off by strikes or are put off', async () => {
    await insertRows(database(), 'schedules', scheduleOf, 20)
    const owing = await addSchedule(database(), {
      name: `'daily-post'`,
      enabled: 'false',
      retired_at: 'now()',
    })
    await insertJobs(database(), unclaimedJob('50 hours', { schedule_id: `'${owing}'` }))
    await addSchedule(database(), { name: `'struck'`, enabled: 'false', disabled_by: `'auto'` })
    await addSchedule(database(), { name: `'busy'`, deferred_since: 'now()' })
    const { code, stdout } = await run('status')
    expect(code).toBe(0)
    expect(stdout).toContain(
      [
        'schedules: 23, 3 not well',
        '  daily-post (post): off, the oldest unclaimed for 50 h, 48 h allowed',
        '  busy (post): put off',
        '  struck (post): off by auto',
        '',
      ].join('\n'),
    )
    expect(stdout).toMatch(/^schema taskq: not healthy\n {2}schedule daily-post: its oldest unclaimed/)
    const { json } = await run('status', '--json')
    expect(json).toMatchObject({ healthy: false, degraded: true })
    expect(json['schedules']).toHaveLength(23)
    expect((await run('status', '--fail-on', 'degraded')).code).toBe(1)
  })
})
