import { afterAll, beforeAll, expect, it } from 'vitest'
import { lockName } from '../../shared/core/names.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { firing } from '../../shared/schedules/tick/tick.ts'
import type { Routine, Sweep } from '../../shared/sweeper/define.ts'
import type { RunResult } from '../../shared/sweeper/result.ts'
import { promotion, routines } from '../../shared/sweeps/index.ts'
import { useDatabase } from '../support/database.ts'
import { insertJobs, lockedJob, pendingJob, scheduledJob } from '../support/jobs.ts'
import { type Login, makeLogin } from '../support/logins.ts'
import { nobody } from '../support/migrating.ts'
import { settingsWith, sweepOnce } from '../support/sweeping.ts'
import { watchOnce } from '../support/watching.ts'
import { anything, clientOn, closesWorkers, workerOn } from '../support/working.ts'

/*
 * Two deployments in one database, each with a schema of its own. They once shared the names of their locks:
 * whichever lost never ran its functions, 12,732 due jobs waited behind it, and everything looked healthy.
 */

const schemas = ['taskq', 'taskq_staging'] as const
type Schema = (typeof schemas)[number]
const backlog = 12_732

const database = useDatabase()
closesWorkers()

/** One login a schema, by which its sessions are told apart: functions, workers and clients. */
const logins = new Map<Schema, Login>()
const loginOf = (schema: Schema) => logins.get(schema) as Login

const otherThan = (schema: Schema): Schema => (schema === 'taskq' ? 'taskq_staging' : 'taskq')

beforeAll(async () => {
  const openSecond = () => database().connect({ schema: 'taskq_staging' })
  const purposes = routines.map(routine => routine.purpose)
  await migrate(await openSecond(), { installation: { ...nobody, purposes }, openSecond })
  for (const schema of schemas) {
    const roles = ['client', 'worker', 'maintenance'].map(role => `${schema}_${role}`)
    logins.set(schema, await makeLogin(database(), `in role ${roles.join(', ')}`))
  }
})
afterAll(async () => {
  for (const login of logins.values()) await login.drop()
})

/** Something to do for every function, in both schemas alike. */
async function fill(): Promise<void> {
  await database().rows(`insert into taskq.actors (actor) values ('finalize')`)
  await insertJobs(database(), scheduledJob({ due: true }), backlog)
  await insertJobs(database(), lockedJob({ expired: true }), 3000)
  await insertJobs(database(), pendingJob({ overdue: true }), 3000)
  await insertJobs(
    database(),
    { status: `'succeeded'`, result: `'{}'`, result_expires_at: `now() - interval '1 hour'` },
    3000,
  )
  const old = `now() - interval '1 day'`
  await database().rows(`insert into taskq.reservation_slots (bucket, slot, job_id, lease_expires_at)
      select 'held', n, gen_random_uuid(), ${old} from generate_series(1, 3000) as n;
    insert into taskq.reservation_slots (bucket, slot, keyed, last_used_at)
      select 'idle-' || n, 1, true, ${old} from generate_series(1, 3000) as n;
    insert into taskq.rate_limit_buckets (bucket, kind, state, keyed, last_used_at)
      select 'idle-' || n, 'gcra', '{"tat": 0}', true, ${old} from generate_series(1, 3000) as n;
    insert into taskq.workers (id, name, last_seen_at)
      select gen_random_uuid(), 'dead', ${old} from generate_series(1, 3000);
    insert into taskq.batches (sealed_at, checked_at, finalizer)
      select ${old}, ${old}, '{"actor": "finalize"}' from generate_series(1, 3000)`)
  await database().rows(`insert into taskq.schedules (name, actor, recurrence, shape, missed, on_open,
      payload, max_unclaimed_age, next_fire_at, revised_at)
    select 'schedule ' || n, 'finalize', '0 0 * * *', 'intent', 'latest', 'supersede', '{}', '2 days',
      date_trunc('day', now()), ${old} from generate_series(1, 3000) as n`)
  const tables = [
    'actors',
    'jobs',
    'reservation_slots',
    'rate_limit_buckets',
    'workers',
    'batches',
    'schedules',
  ]
  for (const table of tables) {
    const [row] = await database().rows(
      `select string_agg(quote_ident(attname), ', ') as columns from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and attgenerated = '' and not attisdropped`,
      [`taskq.${table}`],
    )
    const columns = String(row?.['columns'])
    const values =
      table === 'jobs' ? columns.replace(/\bstatus\b/, '$&::text::taskq_staging.job_status') : columns
    await database().rows(
      `insert into taskq_staging.${table} (${columns}) select ${values} from taskq.${table}`,
    )
  }
  await database().rows('analyze')
}

/** One run of a function of a schema. */
function runIn(schema: Schema, routine: Routine | Sweep): Promise<RunResult> {
  const connect = () => loginOf(schema).connect(schema)
  const settings = { schemaName: schema }
  const runnable = 'arms' in routine ? routine : firing(settingsWith(settings), null)
  return sweepOnce(database(), runnable, { settings, ports: { connect } })
}

/** Looks after a schema until it is over, and never in vain. */
async function watchIn(schema: Schema, isOver: () => boolean): Promise<number> {
  const connect = () => loginOf(schema).connect(schema)
  let looks = 0
  for (; !isOver(); looks++) {
    const { failed } = await watchOnce(database(), { settings: { schemaName: schema }, connect })
    expect(failed).toEqual([])
  }
  return looks
}

/** Every lock that a login's sessions hold or wait for, the catalogs' aside; and for whom they wait. */
const lookAtLocks = (schema: Schema) =>
  database().rows<{ object: string; blockers: string[] }>(
    `select concat_ws(' ', l.locktype, l.relation::regclass, l.classid, l.objid, l.transactionid) as object,
       case when l.granted then '{}' else array(
         select b.usename::text from unnest(pg_blocking_pids(l.pid)) as p (pid)
         join pg_stat_activity b on b.pid = p.pid) end as blockers
     from pg_locks l join pg_stat_activity a on a.pid = l.pid
     left join pg_class c on c.oid = l.relation
     where a.usename = $1 and l.locktype <> 'virtualxid'
       and c.relnamespace is distinct from 'pg_catalog'::regnamespace`,
    [loginOf(schema).name],
  )

interface Seen {
  readonly objects: Readonly<Record<Schema, Set<string>>>
  readonly waits: string[]
}

async function watchLocks(seen: Seen, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    for (const schema of schemas) {
      for (const { object, blockers } of await lookAtLocks(schema)) {
        seen.objects[schema].add(object)
        const others = blockers.filter(blocker => blocker !== loginOf(schema).name)
        if (others.length > 0) seen.waits.push(`${schema} waits for ${others}: ${object}`)
      }
    }
  }
}

/** A schema's life meanwhile: jobs that come, and a worker that does them. */
async function liveIn(schema: Schema, isOver: () => boolean): Promise<number> {
  const actor = anything('steady', 'steady')
  const settings = { schemaName: schema, databaseUrl: loginOf(schema).url }
  const client = await clientOn(database(), settings)
  await workerOn(database(), [actor.run(async () => undefined)], { settings })
  let jobs = 0
  for (; !isOver(); jobs++) await client.enqueue(actor, {})
  return jobs
}

it('never wait for each other, whatever all of their functions do at once', async () => {
  await fill()
  const seen: Seen = { objects: { taskq: new Set(), taskq_staging: new Set() }, waits: [] }
  let ended = false
  const watching = watchLocks(seen, () => ended)
  const living = schemas.map(schema => liveIn(schema, () => ended))
  const looking = schemas.map(schema => watchIn(schema, () => ended))
  const runs = schemas.flatMap(schema =>
    routines.map(async routine => {
      const results: RunResult[] = []
      do results.push(await runIn(schema, routine))
      while (results.length < 20 && results.at(-1)?.outcome === 'bounded')
      return results
    }),
  )
  const results = await Promise.all(runs).finally(() => {
    ended = true
  })
  const [jobs, looks] = await Promise.all([Promise.all(living), Promise.all(looking), watching])

  // Nothing of the one is a lock of the other, and none was met on the way.
  expect(seen.waits).toEqual([])
  expect([...seen.objects.taskq].filter(object => seen.objects.taskq_staging.has(object))).toEqual([])
  expect(results.flat().map(({ outcome }) => outcome)).not.toContain('contended')
  // Both had the whole of their work done, by every function, under load.
  for (const each of results) expect(each.at(-1)).toMatchObject({ outcome: 'drained' })
  for (const each of results)
    expect(each.reduce((sum, { rows }) => sum + rows, 0)).toBeGreaterThanOrEqual(2900)
  expect(Math.min(...jobs)).toBeGreaterThan(10)
  expect(Math.min(...looks)).toBeGreaterThan(1)
  for (const schema of schemas) expect(seen.objects[schema].size).toBeGreaterThan(20)
})

it.each(schemas)(
  'due jobs of %s are promoted while all locks of the other are held, and every unqualified name',
  async schema => {
    await database().rows(`truncate ${schema}.jobs cascade;
      insert into ${schema}.jobs (actor, status, scheduled_at)
    select 'test', 'scheduled', now() - interval '1 hour' from generate_series(1, ${backlog})`)
    const holder = await database().client()
    await holder.query('begin')
    const names = [...routines.map(({ purpose }) => purpose), 'maintenance_leader', 'migrate']
    const held = names.flatMap(name => [lockName(name, otherThan(schema)), `taskq:${name}`, name])
    await holder.query(
      'select pg_advisory_xact_lock(hashtextextended(name, 0)) from unnest($1::text[]) as n (name)',
      [held],
    )
    expect(await runIn(schema, promotion)).toMatchObject({ outcome: 'drained', rows: backlog })
    // The same holder of its own lock would have stopped it: so it is the name that keeps them apart.
    await holder.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
      lockName('promotion', schema),
    ])
    expect(await runIn(schema, promotion)).toMatchObject({ outcome: 'contended', rows: 0 })
    await holder.query('commit')
  },
)
