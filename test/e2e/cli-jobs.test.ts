import { hostname, userInfo } from 'node:os'
import { beforeEach, describe, expect, test } from 'vitest'
import { endedJob, insertJobs, lockedJob } from '../support/jobs.ts'
import { useCommand } from './cli-command.ts'

const { database, run } = useCommand()
const principal = `${userInfo().username}@${hostname()}`

beforeEach(() => database().rows('truncate taskq.operator_audit, taskq.jobs_archive'))

const audited = () =>
  database().rows('select principal, action, target, reason, detail from taskq.operator_audit order by id')

describe('jobs retry', () => {
  test('lets a job run again, by its id in whatever case, and the audit says who and why', async () => {
    const [id = ''] = await insertJobs(database(), endedJob('failed'))
    const retried = await run('jobs', 'retry', id.toUpperCase(), '--reason', 'the name resolves', '--json')
    expect(retried).toMatchObject({ code: 0, json: { id, from: 'failed' } })
    expect(await database().rows('select status::text from taskq.jobs')).toEqual([{ status: 'pending' }])
    const told = { action: 'retry_job', target: id, detail: { from_state: 'failed' } }
    expect(await audited()).toEqual([{ principal, reason: 'the name resolves', ...told }])
  })

  test('says what it did, for people', async () => {
    const [id = ''] = await insertJobs(database(), endedJob('cancelled'))
    const { code, stdout } = await run('jobs', 'retry', id)
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${id} was cancelled, and is pending: a worker may claim it now\n`,
    })
  })

  test('refuses a job that is not over, or is not there, and the audit has no row for it', async () => {
    const [id = ''] = await insertJobs(database(), lockedJob())
    const nobody = '0197c6a5-4d1e-7c58-9a3f-6f8f4f2c9d10'
    for (const [given, code, exit] of [
      [id, 'JOB_NOT_ENDED', 1],
      [nobody, 'JOB_UNKNOWN', 1],
      ['7', 'OPTION_INVALID', 2],
    ] as const) {
      const refused = await run('jobs', 'retry', given, '--json')
      expect(refused).toMatchObject({ code: exit, json: { error: { code, field: 'ID' } } })
    }
    expect(await audited()).toEqual([])
  })
})
