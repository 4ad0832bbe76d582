import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createClient } from '../../../functions/entry/client.ts'
import { runWorker } from '../../../functions/entry/worker.ts'
import { retryJobAudited } from '../../../shared/client/retry-job.ts'
import { type DatabaseRole, databaseRoles } from '../../../shared/core/names.ts'
import { codeOf } from '../../../shared/sql/failures.ts'
import type { Sweep } from '../../../shared/sweeper/define.ts'
import {
  readFunctions,
  readQueues,
  readSchedules,
  readWorkers,
} from '../../../shared/sweeper/status/statements.ts'
import { sweeps } from '../../../shared/sweeps/index.ts'
import { useDatabase } from '../../support/database.ts'
import { clearDue, insertDueOfEach } from '../../support/due-rows.ts'
import { endedJob, insertJobs, lockedJob, pendingJob, scheduledJob } from '../../support/jobs.ts'
import { type Login, makeLogin } from '../../support/logins.ts'
import { addSchedule, fireOnce, midnight } from '../../support/schedules.ts'
import { settingsWith, sweepOnce } from '../../support/sweeping.ts'
import { anything } from '../../support/working.ts'

/** What each role may do, by table: all of it, in the words of the catalog. */
const table: Readonly<Record<Exclude<DatabaseRole, 'reader'>, string>> = {
  client: `actors insert select, installation select, job_events insert select, jobs insert select update,
    jobs_archive select, operator_audit insert, schedule_decisions insert select,
    schedule_occurrences insert select, schedule_revisions insert select, schedules insert select update`,
  worker: `actors select, installation select, job_attempts insert select, job_events insert select,
    jobs select update, queues insert select update, schedules select, sweep_quarantine select,
    sweep_state select, workers delete insert select update`,
  maintenance: `actors select, batches select update, installation select, job_attempts insert select,
    job_events insert select, jobs insert select update, jobs_archive select, operator_audit insert,
    queues select,
    rate_limit_buckets delete select update, rate_limit_window_entries delete select update,
    reservation_slots delete select update, schedule_decisions insert select,
    schedule_occurrences insert select, schedule_revisions insert select, schedules insert select update,
    sweep_quarantine delete insert select update,
    sweep_state insert select update, workers delete select update`,
}
const everyTable = `actors batches installation job_attempts job_events jobs jobs_archive operator_audit
  queues rate_limit_buckets rate_limit_window_entries reservation_slots schedule_decisions
  schedule_occurrences schedule_revisions schedules schema_migrations sweep_quarantine sweep_state workers`

const database = useDatabase()
const logins = new Map<DatabaseRole, Login>()

beforeAll(async () => {
  for (const role of databaseRoles) logins.set(role, await makeLogin(database(), `in role taskq_${role}`))
})
afterAll(async () => {
  for (const login of logins.values()) await login.drop()
})
beforeEach(async () => {
  await clearDue(database())
  await database().rows('truncate taskq.queues')
})

const loginOf = (role: DatabaseRole) => logins.get(role) as Login
const words = (text: string) => text.trim().split(/\s+/).join(' ')

describe('a role', () => {
  it.each(databaseRoles)('%s may do just this in the schema', async role => {
    const held = await database().rows<{ on: string }>(
      `select c.relname || ' ' || string_agg(lower(a.privilege_type), ' ' order by a.privilege_type) as on
       from pg_class c, lateral aclexplode(c.relacl) a
       where c.relnamespace = 'taskq'::regnamespace and a.grantee = 'taskq_${role}'::regrole
       group by c.relname order by c.relname`,
    )
    const wanted =
      role === 'reader'
        ? words(everyTable).replaceAll(/\w+/g, '$& select').replaceAll('select ', 'select, ')
        : table[role]
    expect(held.map(({ on }) => on).join(', ')).toBe(words(wanted))
  })

  it.each(databaseRoles)('%s may use the schema, create nothing in it, and not log in', async role => {
    const quoted = `'taskq_${role}'`
    const [row] = await database().rows(`select has_schema_privilege(${quoted}, 'taskq', 'usage') as usage,
      has_schema_privilege(${quoted}, 'taskq', 'create') as creates, rolcanlogin as enters
      from pg_roles where rolname = ${quoted}`)
    expect(row).toEqual({ usage: true, creates: false, enters: false })
  })
})

/** Who may count what a sweep would take: whoever may read all that its window asks. */
const counters: Readonly<Record<string, readonly DatabaseRole[]>> = {
  deadline_exceeded: ['maintenance', 'worker', 'reader'],
  expired_locks: ['maintenance', 'worker', 'reader'],
  expired_results: databaseRoles,
  idle_keyed_rows: ['maintenance', 'reader'],
  leaked_reservation_slots: ['maintenance', 'reader'],
  promotion: ['maintenance', 'worker', 'reader'],
  stale_batches: ['maintenance', 'reader'],
  stale_workers: ['maintenance', 'worker', 'reader'],
}

/**
 * A function enqueues the finalizer of a batch, and so may enqueue whatever has an actor's row. An operator
 * redrives in its role.
 */
const enqueuers: readonly DatabaseRole[] = ['client', 'maintenance']

/** The ways through the product, each with the roles that may go it; every other one is refused. */
const paths: Record<
  string,
  { readonly open: readonly DatabaseRole[]; readonly go: (login: Login) => Promise<unknown> }
> = {
  'enqueues a job': { open: enqueuers, go: login => enqueueing(login, one => one.enqueue(anything(), {})) },
  'enqueues jobs in a transaction': {
    open: enqueuers,
    go: login =>
      enqueueing(login, one => one.enqueueMany(anything(), ['a', 'b'], { idempotencyKey: String })),
  },
  'enqueues in SQL': {
    open: enqueuers,
    go: async login => {
      await database().rows(`insert into taskq.actors (actor) values ('test') on conflict do nothing`)
      return (await login.connect()).script(`select from taskq.enqueue('test', '{}')`)
    },
  },
  'reads a job': {
    open: databaseRoles,
    go: async login => {
      const [id = ''] = await insertJobs(database(), pendingJob())
      return enqueueing(login, one => one.getJob(id))
    },
  },
  'redrives a job of a schedule': {
    open: enqueuers,
    go: async login => {
      const id = await failedJob()
      return enqueueing(login, one => one.retry(id))
    },
  },
  'redrives a job with an audit': {
    open: enqueuers,
    go: async login => {
      const args = { id: await failedJob(), principal: 'ada@laptop', reason: null }
      return (await login.connect()).run(retryJobAudited, args)
    },
  },
  'fires schedules': {
    open: ['maintenance'],
    go: async login => {
      await database().rows('truncate taskq.schedules')
      await addSchedule(database(), { next_fire_at: midnight(0) })
      const fired = await fireOnce(database(), { ports: { connect: () => login.connect() } })
      expect(fired).toMatchObject({ byDisposition: { fired: 1 } })
    },
  },
  'claims, beats, settles, promotes and reclaims': { open: ['worker'], go: working },
  'reads the status': {
    open: ['reader', 'maintenance', 'worker'],
    go: async login => {
      const connection = await login.connect()
      for (const statement of [readFunctions, readQueues, readSchedules, readWorkers])
        await connection.run<unknown, { max: number }>(statement, { max: 10 })
    },
  },
  ...Object.fromEntries(
    sweeps.flatMap(sweep => [
      [`runs ${sweep.purpose}`, { open: ['maintenance'], go: login => sweeping(login, sweep, false) }],
      [
        `counts for ${sweep.purpose}`,
        { open: counters[sweep.purpose] ?? [], go: login => sweeping(login, sweep, true) },
      ],
    ]),
  ),
}

async function failedJob(): Promise<string> {
  const schedule = await addSchedule(database())
  const [id = ''] = await insertJobs(database(), { ...endedJob('failed'), schedule_id: `'${schedule}'` })
  return id
}

async function enqueueing<T>(
  login: Login,
  call: (client: Awaited<ReturnType<typeof createClient>>) => Promise<T>,
): Promise<T> {
  const client = await createClient({ settings: settingsWith({ databaseUrl: login.url }) })
  return call(client).finally(() => client.close())
}

/** A worker's whole life: a job of each kind that it or its repair has to do with. */
async function working(login: Login): Promise<void> {
  await insertJobs(database(), pendingJob())
  await insertJobs(database(), scheduledJob({ due: true }))
  await insertJobs(database(), {
    ...lockedJob({ expired: true }),
    retry_base: `interval '0'`,
    retry_jitter: '0',
  })
  const settings = settingsWith({ databaseUrl: login.url, pollInterval: 50, heartbeatInterval: 50 })
  let refusal: unknown
  const worker = await runWorker({
    actors: [anything().run(async () => undefined)],
    settings,
    report: ({ error }) => {
      refusal ??= error
    },
  })
  const open = () => database().rows(`select from taskq.jobs where status <> 'succeeded'`)
  await expect
    .poll(async () => refusal !== undefined || (await open()).length === 0, { timeout: 20_000 })
    .toBe(true)
  await worker.stop()
  if (refusal !== undefined) throw refusal
}

async function sweeping(login: Login, sweep: Sweep, dryRun: boolean): Promise<void> {
  await insertDueOfEach(database())
  const result = await sweepOnce(database(), sweep, {
    request: { dryRun },
    ports: { connect: () => login.connect() },
  })
  const { arms } = sweep
  // A bucket whose entries have to go first is not counted yet, and goes in the same run.
  expect(result).toMatchObject(dryRun ? { eligible: Math.min(arms.length, 2) } : { rows: arms.length })
}

describe.each(Object.entries(paths))('%s', (_, { open, go }) => {
  it.each(databaseRoles)('as %s', async role => {
    const outcome = await go(loginOf(role)).then(
      () => 'done',
      error => codeOf(error) ?? error,
    )
    // Told as ours by the client and the worker; as the driver's own where the statements run bare.
    expect(open.includes(role) ? ['done'] : ['42501', 'PERMISSION_DENIED']).toContain(outcome)
  })
})
