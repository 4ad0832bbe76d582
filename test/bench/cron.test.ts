import { performance } from 'node:perf_hooks'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { firing } from '../../shared/schedules/tick/tick.ts'
import { run } from '../../shared/sweeper/run.ts'
import { openDatabase, type TestDatabase } from '../support/database.ts'
import { brokenFacts } from '../support/schedules.ts'
import { portsOn, settingsWith } from '../support/sweeping.ts'

/**
 * How soon after their instant schedules have fired, all due in the same second, in every zone there is, each
 * by its own zone's clock: from the instant to the last commit of the one pulse that waited for it.
 */
const zones = Intl.supportedValuesOf('timeZone')

/** Schedules that are due daily at an instant, whatever o'clock that is in their zones. */
async function addDueAt(database: TestDatabase, atMs: number, count: number): Promise<void> {
  await database.rows(`insert into taskq.actors (actor) values ('post')`)
  const rows = Array.from({ length: count }, (_, n) => {
    const timezone = zones[n % zones.length] ?? 'UTC'
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      timeStyle: 'medium',
      hourCycle: 'h23',
    })
    const [hour, minute, second] = format.format(atMs).split(':').map(Number)
    return { name: `schedule ${n}`, timezone, recurrence: `${second} ${minute} ${hour} * * *` }
  })
  await database.rows(
    `insert into taskq.schedules (name, actor, recurrence, timezone, shape, missed, on_open, payload,
       max_unclaimed_age, next_fire_at, revised_at)
     select name, 'post', recurrence, timezone, 'intent', 'latest', 'supersede', '{}', '2 days',
       to_timestamp($2::float8 / 1000), clock_timestamp() - interval '1 year'
     from jsonb_to_recordset($1) as g (name text, timezone text, recurrence text)`,
    [JSON.stringify(rows), atMs],
  )
  await database.rows('vacuum analyze')
}

/** Milliseconds from the instant to the last commit, and the longest tick. */
async function measure(count: number) {
  const database = await openDatabase()
  try {
    const atMs = Math.ceil(Date.now() / 1000 + 4 + count / 1000) * 1000
    await addDueAt(database, atMs, count)
    await sleepFor(Math.max(0, atMs - 2500 - Date.now()))
    const settings = settingsWith({ invocationWindow: 30_000 })
    let committedMs = 0
    const connect = async () => {
      const connection = await database.connect()
      const commit = connection.commit.bind(connection)
      connection.commit = async () => {
        await commit()
        committedMs = performance.timeOrigin + performance.now()
      }
      return connection
    }
    const sleep = async (ms: number) => void (await sleepFor(ms))
    const ports = portsOn(database, { connect, sleep })
    const result = await run(firing(settings, null), { trigger: 'schedule', settings }, ports)
    expect(result).toMatchObject({ outcome: 'drained', pulses: 2, byDisposition: { fired: count } })
    const [row] = await database.rows<{ early: number; jobs: number }>(
      `select count(*)::int as jobs,
         count(*) filter (where created_at < occurrence_due_at)::int as early from taskq.jobs`,
    )
    expect(row).toEqual({ jobs: count, early: 0 })
    if (count <= 1000) expect(await brokenFacts(database)).toEqual([])
    const { longestBatchMs, batches } = result as { longestBatchMs: number; batches: number }
    return { lateMs: committedMs - atMs, longestBatchMs, batches }
  } finally {
    await database.close()
  }
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

test.each([
  { count: 1000, lateMsMax: 250 },
  { count: 10_000, lateMsMax: 2500 },
])('$count schedules due in one second have fired $lateMsMax ms after it', async ({ count, lateMsMax }) => {
  const rounds: Awaited<ReturnType<typeof measure>>[] = []
  for (let round = 0; round < 3; round++) rounds.push(await measure(count))
  const text = rounds.map(({ lateMs, longestBatchMs }) => `${lateMs.toFixed(0)} (tick ${longestBatchMs})`)
  process.stdout.write(`${count} schedules: ${text.join(', ')} ms after their instant\n`)
  expect(median(rounds.map(({ lateMs }) => lateMs))).toBeLessThanOrEqual(lateMsMax)
})
