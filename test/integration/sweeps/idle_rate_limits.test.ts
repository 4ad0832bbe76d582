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

  it.each([
    ['tokens', tokens(1e300, 1e300, 1e300)],
    ['an arrival', { tat: 1e300 }],
    ['a window', { window_seconds: 1e300 }],
  ])('raises nothing, however large %s its state holds (B052)', async (_, state) => {
    await insertRows(database(), 'rate_limit_buckets', limitBucket(state))
    expect(await sweepOnce(database(), idleKeyedRows)).toMatchObject({ outcome: 'drained' })
  })
})
