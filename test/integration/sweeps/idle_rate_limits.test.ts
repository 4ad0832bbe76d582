import { describe, expect, it } from 'vitest'
import type { Arm } from '../../../shared/sweeper/define.ts'
import { idleKeyedRows } from '../../../shared/sweeps/idle_keyed_rows.ts'
import { openDatabase, useDatabase } from '../../support/database.ts'
import { holdReads } from '../../support/held-reads.ts'
import { before, limitBucket, loggedEntry, longAgo, tokens } from '../../support/keyed.ts'
import { laws } from '../../support/laws/index.ts'
import { insertRows } from '../../support/rows.ts'
import { sweepOnce } from '../../support/sweeping.ts'

const [, entries, buckets] = idleKeyedRows.arms
const epoch = (offset: string) => `jsonb_build_object('tat', extract(epoch from now() ${offset}))`

describe('its buckets', () => {
  laws({
    sweep: idleKeyedRows,
    arm: buckets as Arm,
    due: [
      limitBucket(tokens(0, 100, 1)),
      limitBucket(tokens(5, 5, 0)),
      limitBucket(epoch(`- interval '1 second'`)),
      limitBucket({ window_seconds: 60 }),
    ],
    spared: [
      limitBucket(tokens(0, 100, 1), { keyed: 'false' }),
      limitBucket(tokens(0, 100, 1), { last_used_at: `now() - interval '50 minutes'` }),
      // A fixed quota that is spent, and what is not full again yet.
      limitBucket(tokens(4, 5, 0), { last_used_at: before }),
      limitBucket(tokens(0, 1_000_000, 1), { last_used_at: before }),
      limitBucket(epoch(`+ interval '1 hour'`), { last_used_at: before }),
      loggedEntry(`now() + interval '1 hour'`, { last_used_at: before }),
      // Of which too little is known.
      limitBucket({}, { last_used_at: before }),
      limitBucket({ tokens: 5, capacity: 5 }, { last_used_at: before }),
      limitBucket({ tokens: '5', capacity: 5, refill_per_second: 1, at: 0 }, { last_used_at: before }),
      limitBucket({ tokens: null, tat: 5 }, { last_used_at: before }),
      limitBucket({ tat: 'now' }, { last_used_at: before }),
      limitBucket({ tat: 'now', window_seconds: 60 }, { last_used_at: before }),
      limitBucket({ window_seconds: null }, { last_used_at: before }),
      limitBucket({ other: 7 }, { last_used_at: before }),
    ],
    leavesTrace: false,
  })
})

const log = limitBucket({ window_seconds: 60 }, { bucket: `'log'` })
const ofLog = (at: string) => ({ bucket: `'log'`, at, request_id: 'gen_random_uuid()' })

/** Entries of one bucket, which a young entry keeps. */
const inLog =
  (at: string) => async (database: Parameters<ReturnType<typeof loggedEntry>>[0], rows: number) => {
    const [known] = await database.rows(`select from taskq.rate_limit_buckets where bucket = 'log'`)
    if (known === undefined) await insertRows(database, 'rate_limit_buckets', log)
    const young = `select from taskq.rate_limit_window_entries where bucket = 'log' and at > now()`
    if ((await database.rows(young)).length === 0) {
      await insertRows(database, 'rate_limit_window_entries', ofLog(`now() + interval '1 day'`))
    }
    await insertRows(database, 'rate_limit_window_entries', ofLog(at), rows)
  }

describe('its entries', () => {
  laws({
    sweep: idleKeyedRows,
    arm: entries as Arm,
    due: [inLog(longAgo), inLog(`now() - interval '61 seconds' - n * interval '1 millisecond'`)],
    spared: [
      loggedEntry(`now() + interval '1 hour'`, { last_used_at: before }),
      loggedEntry(longAgo, { last_used_at: 'now()' }),
      loggedEntry(longAgo, { last_used_at: before, keyed: 'false' }),
      loggedEntry(longAgo, { last_used_at: before, state: `'{"other": 60}'` }),
      loggedEntry(longAgo, { last_used_at: before, state: `'{"window_seconds": 1e300}'` }),
    ],
    leavesTrace: false,
  })
})

/** What jsonb holds, and a clock, an interval or a float may not. */
const oddValues = [
  ...['1e131071', '-1e131071', '1e300', '-1e300', '1e-400', '-1e-400', '1e-16383', '1e15', '1e9', '0', '-1'],
  ...['null', 'true', '"x"', '"1"', '"NaN"', '"1e999"', '[5]', '{}'],
]

const database = useDatabase()

describe('a keyed rate limit that is idle', () => {
  it('goes with its last entries, in one run', async () => {
    await loggedEntry(longAgo)(database(), 3)
    expect(await sweepOnce(database(), idleKeyedRows)).toMatchObject({
      rows: 6,
      byDisposition: { entries_deleted: 3, buckets_deleted: 3 },
      byActor: {},
    })
  })

  it('stays where it was used between our snapshot and our lock (B103)', async () => {
    const own = await openDatabase()
    await insertRows(own, 'rate_limit_buckets', limitBucket(tokens(0, 100, 1)), 3)
    const held = await holdReads(own, 'rate_limit_buckets')
    const running = sweepOnce(own, idleKeyedRows, { settings: held.settings })
    await held.reached()
    await own.rows(`update taskq.rate_limit_buckets set last_used_at = now()
      where bucket = (select min(bucket) from taskq.rate_limit_buckets)`)
    await held.release()
    expect(await running).toMatchObject({ rows: 2 })
    expect(await own.rows('select from taskq.rate_limit_buckets')).toHaveLength(1)
    await own.close()
  })

  it.each(
    ['tokens', 'capacity', 'refill_per_second', 'at', 'tat', 'window_seconds'].flatMap(member =>
      oddValues.map(value => [member, value] as const),
    ),
  )('raises nothing and hides none behind it where its %s is %s (B052)', async (member, value) => {
    const own = database()
    await own.rows('truncate taskq.rate_limit_buckets, taskq.rate_limit_window_entries')
    const others = { tokens: 5, capacity: 50, refill_per_second: 1, at: 0 }
    const known = member in others ? JSON.stringify(others) : '{}'
    const odd = limitBucket(`'${known}'::jsonb || '{"${member}": ${value}}'`, {
      bucket: `'odd'`,
      last_used_at: before,
    })
    await insertRows(own, 'rate_limit_buckets', odd)
    const entry = { bucket: `'odd'`, at: longAgo, request_id: 'gen_random_uuid()' }
    await insertRows(own, 'rate_limit_window_entries', entry)
    await loggedEntry(longAgo)(own, 1)
    await insertRows(own, 'rate_limit_buckets', limitBucket(tokens(0, 100, 1)))
    const dry = await sweepOnce(own, idleKeyedRows, { request: { dryRun: true } })
    expect(dry).toMatchObject({ dryRun: true })
    expect(await sweepOnce(own, idleKeyedRows)).toMatchObject({ outcome: 'drained' })
    expect(await own.rows(`select from taskq.rate_limit_buckets where bucket <> 'odd'`)).toEqual([])
  })
})

describe('a bucket of tokens', () => {
  const filled = { tokens: 0, capacity: 5000, refill_per_second: 1 }
  const isGone = async (state: string) => {
    await insertRows(database(), 'rate_limit_buckets', limitBucket(state))
    const { rows } = await sweepOnce(database(), idleKeyedRows)
    await database().rows('truncate taskq.rate_limit_buckets')
    return rows === 1
  }
  const withAt = (at: string) => `'${JSON.stringify(filled)}'::jsonb || jsonb_build_object('at', ${at})`

  it.each([
    ['the time of its tokens is now', 'extract(epoch from now())', false],
    ['that time is now, as a text', 'extract(epoch from now())::text', false],
    ['that time is in the future', '1e300', false],
    ['that time is no number of any clock', '1e131071', false],
    ['that time is earlier than its last use', '0', true],
    ['that time is long before 1970', '-1e131071', true],
    ['that time is a text that is no number', `now()::text`, true],
    ['that time is not known', 'null', true],
  ])('is full again by the later of its two times: %s', async (_, at, gone) => {
    expect(await isGone(withAt(at))).toBe(gone)
  })
})
