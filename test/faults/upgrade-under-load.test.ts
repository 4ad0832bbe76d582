import { expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { indexFile, laterFile, migrateTo } from '../support/migrating.ts'
import { anything, clientOn, closesWorkers, workerOn } from '../support/working.ts'

const database = useDatabase()
closesWorkers()

const actor = anything('steady')
const enqueuersCount = 3

/** Enqueues one job after the other until told to stop; what failed is kept. */
async function load() {
  const taskq = await clientOn(database())
  const seen = { enqueued: 0, failures: [] as unknown[], isStopped: false }
  const enqueuer = async () => {
    while (!seen.isStopped) {
      await taskq.enqueue(actor, { n: seen.enqueued }).catch(error => seen.failures.push(error))
      seen.enqueued++
    }
  }
  const enqueuers = Array.from({ length: enqueuersCount }, enqueuer)
  const stop = () => {
    seen.isStopped = true
    return Promise.all(enqueuers)
  }
  return { seen, stop }
}

const scalar = async (text: string) => {
  const [row] = await database().rows<{ value: number }>(`select (${text})::int as value`)
  return row?.value ?? Number.NaN
}

it('an upgrade under load fails no call; a busy table delays it and not the table (PEERS 70)', async () => {
  const troubles: unknown[] = []
  await workerOn(database(), [actor.run(() => 'done')], { report: trouble => troubles.push(trouble) })
  const { seen, stop } = await load()
  const writer = await database().client()
  await writer.query(`begin; insert into taskq.jobs (queue, actor) values ('elsewhere', 'test')`)
  const files = [
    laterFile(90, 'colour', 'alter table {schema}.jobs add column colour text'),
    indexFile(91, 'jobs_colour', 'jobs (colour, id)'),
  ]
  const upgraded = migrateTo(database(), files)

  const waiting = `select count(*) from pg_locks where not granted and mode = 'AccessExclusiveLock'
    and relation = 'taskq.jobs'::regclass`
  const tries = { seen: 0, isBehindOne: false }
  await expect
    .poll(
      async () => {
        const isWaiting = (await scalar(waiting)) > 0
        if (isWaiting && !tries.isBehindOne) tries.seen++
        tries.isBehindOne = isWaiting
        return tries.seen
      },
      { timeout: 60_000, interval: 5 },
    )
    .toBeGreaterThan(4)
  const before = seen.enqueued
  await expect.poll(() => seen.enqueued).toBeGreaterThan(before + 100)
  await writer.query('commit')
  expect((await upgraded).applied).toEqual(files.map(({ file }) => file))

  await stop()
  expect({ failures: seen.failures, troubles }).toEqual({ failures: [], troubles: [] })
  const open = `select count(*) from taskq.jobs where actor = 'steady' and status <> 'succeeded'`
  await expect.poll(() => scalar(open), { timeout: 60_000 }).toBe(0)
  expect(await scalar(`select count(*) from taskq.jobs where actor = 'steady'`)).toBe(seen.enqueued)
  expect(await scalar('select deadlocks from pg_stat_database where datname = current_database()')).toBe(0)
})
