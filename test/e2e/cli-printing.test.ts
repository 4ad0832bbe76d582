import { beforeEach, describe, expect, test } from 'vitest'
import { insertJobs } from '../support/jobs.ts'
import { unclaimedJob } from '../support/watching.ts'
import { useCommand } from './cli-command.ts'

const { database, run } = useCommand()
const hostile = '\u001b[2Jx\r\nall is well\u009b'
const shown = '\\u001b[2Jx\\u000d\\nall is well\\u009b'

beforeEach(async () => {
  await database().rows('truncate taskq.sweep_quarantine, taskq.workers, taskq.queues')
  await insertJobs(database(), unclaimedJob('1 hour', { queue: `e'\\x1b[2Jx\\r\\nall is well\\u009b'` }))
  const text = [hostile]
  await database().rows(
    `insert into taskq.sweep_quarantine (function, row_key, until, last_error)
    values ('promotion', $1, now() + interval '1 day', $1)`,
    text,
  )
  await database().rows(
    `insert into taskq.workers (id, name, hostname, kind, last_seen_at)
    values (gen_random_uuid(), $1, 'here', 'process', now())`,
    text,
  )
  await database().rows(
    `update taskq.sweep_state set last_outcome = 'aborted', last_error = $1,
    disabled_at = case function when 'promotion' then now() end, disabled_by = $1`,
    text,
  )
})

describe('what names and errors hold is shown and not obeyed', () => {
  test.each([
    ['quarantine list', `promotion ${shown}: failed 1 time`],
    ['quarantine list', `Z: ${shown}\n`],
    ['functions list', `, by ${shown}; `],
    ['status', `\n  queue ${shown}: its oldest`],
    ['status', `\n  ${shown} (process), seen `],
    ['status', `its last run aborted: ${shown}`],
    ['run vital_signs', `\n    queue ${shown}, ageSeconds`],
  ])('by taskq %s: %j', async (command, said) => {
    const { code, stdout } = await run(...command.split(' '))
    expect(stdout).toContain(said)
    expect(stdout).not.toMatch(/^all is well/m)
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    expect(code).toBe(0)
  })

  test('while JSON has it as it is', async () => {
    const { json } = await run('quarantine', 'list', '--json')
    expect(json['rows']).toMatchObject([{ rowKey: hostile, lastError: hostile }])
  })

  test('by an error, whose further lines are indented', async () => {
    await database().rows(`update taskq.workers set last_seen_at = now() - interval '90 days';
      create function slow() returns trigger language plpgsql as
        $$ begin raise exception e'\\x1b[2Jx\\r\\nall is well\\u009b'; end $$;
      create trigger slow before delete on taskq.workers for each row execute function slow()`)
    const { code, stdout, stderr } = await run('run', 'stale_workers')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('taskq run: INTERNAL: \\u001b[2Jx\\u000d\n  all is well\\u009b')
    expect(stderr.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  })
})
