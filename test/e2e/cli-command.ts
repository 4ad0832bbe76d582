import { beforeEach } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { taskq } from './cli-process.ts'

/** A database with one actor and no job before each test, and the command run against it. */
export function useCommand() {
  const database = useDatabase()

  beforeEach(async () => {
    // A command that was ended at once leaves its statement to the server.
    await database().rows(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'taskq-cli' and datname = current_database()`)
    await database().rows('drop function if exists slow cascade; truncate taskq.jobs cascade')
    await database().rows(
      `truncate taskq.actors; insert into taskq.actors (actor, queue) values ('send', 'mail')`,
    )
  })

  const here = () => ({ env: { TASKQ_DATABASE_URL: database().url } })
  return {
    database,
    here,
    run: (...args: string[]) => taskq(args, here()),

    /** Jobs that fell due a minute ago. */
    dueJobs: (count: number) =>
      database().rows(
        `insert into taskq.jobs (queue, actor, status, scheduled_at, first_due_at)
        select 'mail', 'send', 'scheduled', now() - interval '1 minute', now() - interval '1 minute'
        from generate_series(1, $1)`,
        [count],
      ),

    countJobs: async (status: string) => {
      const [row] = await database().rows<{ jobs: number }>(
        'select count(*)::int as jobs from taskq.jobs where status = $1::taskq.job_status',
        [status],
      )
      return row?.jobs ?? 0
    },

    /** Makes every update of a job take this long. */
    slowDown: (seconds: number) =>
      database().rows(`create function slow() returns trigger language plpgsql as
          $$ begin perform pg_sleep(${seconds}); return new; end $$;
        create trigger slow before update on taskq.jobs for each row execute function slow()`),
  }
}
