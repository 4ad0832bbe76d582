import { describe, expect, it } from 'vitest'
import type { Arm } from '../../../shared/sweeper/define.ts'
import { idleKeyedRows } from '../../../shared/sweeps/idle_keyed_rows.ts'
import { openDatabase, type TestDatabase } from '../../support/database.ts'
import { holdReads } from '../../support/held-reads.ts'
import { before, longAgo, slotBuckets } from '../../support/keyed.ts'
import { laws } from '../../support/laws/index.ts'
import { insertRows } from '../../support/rows.ts'
import { sweepOnce } from '../../support/sweeping.ts'

const [slots] = idleKeyedRows.arms
const fresh = `case slot when 0 then now() else ${before} end`

laws({
  sweep: idleKeyedRows,
  arm: slots as Arm,
  due: [slotBuckets(1)],
  spared: [
    slotBuckets(2, { last_used_at: `now() - interval '59 minutes'` }),
    slotBuckets(1, { keyed: 'false' }),
    slotBuckets(2, { last_used_at: fresh }),
    // Held, with a lease or without, however long ago it was taken.
    slotBuckets(2, { last_used_at: before, lease_expires_at: `case slot when 1 then now() end` }),
    slotBuckets(2, { last_used_at: before, job_id: `case slot when 1 then gen_random_uuid() end` }),
    slotBuckets(2, { last_used_at: before, held_by: `case slot when 1 then gen_random_uuid() end` }),
    slotBuckets(2, { last_used_at: before, acquired_at: `case slot when 1 then now() end` }),
    slotBuckets(2, { last_used_at: before, keyed: 'slot > 0' }),
    slotBuckets(2, { last_used_at: before, keyed: 'slot = 0' }),
  ],
  leavesTrace: false,
})

async function inDatabase(check: (database: TestDatabase) => Promise<void>): Promise<void> {
  const database = await openDatabase()
  await check(database).finally(() => database.close())
}

const sizes = async (database: TestDatabase) =>
  (
    await database.rows<{ slots: number }>(
      `select count(*)::int as slots from taskq.reservation_slots group by bucket order by 1`,
    )
  ).map(row => row.slots)

describe('a bucket of slots', () => {
  it('stays whole with one fresh slot among a hundred stale ones (B101)', () =>
    inDatabase(async database => {
      await slotBuckets(100, { last_used_at: `case slot when 57 then now() else ${longAgo} end` })(
        database,
        1,
      )
      await slotBuckets(100)(database, 1)
      expect(await sweepOnce(database, idleKeyedRows)).toMatchObject({
        rows: 100,
        byDisposition: { slots_deleted: 100 },
        byActor: {},
      })
      expect(await sizes(database)).toEqual([100])
    }))

  it('goes with as many others as fit, and by itself where it is larger than a batch', () =>
    inDatabase(async database => {
      const run = () => sweepOnce(database, idleKeyedRows, { settings: { keyedRowReclaimBatchSize: 10 } })
      await slotBuckets(25)(database, 1)
      await slotBuckets(4, { last_used_at: `now() - interval '5 hours'` })(database, 3)
      expect(await run()).toMatchObject({ outcome: 'bounded', rows: 25, remaining: 12 })
      expect(await run()).toMatchObject({ outcome: 'bounded', rows: 8, remaining: 4 })
      expect(await run()).toMatchObject({ outcome: 'drained', rows: 4, remaining: 0 })
    }))

  it('is found behind any number of idle slots of buckets in use (B102)', () =>
    inDatabase(async database => {
      await slotBuckets(50, { last_used_at: fresh })(database, 20)
      await slotBuckets(3)(database, 1)
      expect(await sweepOnce(database, idleKeyedRows)).toMatchObject({ outcome: 'drained', rows: 3 })
      expect(await sizes(database)).toEqual(Array.from({ length: 20 }, () => 50))
    }))

  it('stays whole where somebody has one of its slots locked', () =>
    inDatabase(async database => {
      await slotBuckets(5)(database, 2)
      const holder = await database.client()
      await holder.query('begin')
      await holder.query(
        `select from taskq.reservation_slots where slot = 3 order by bucket limit 1 for update`,
      )
      expect(await sweepOnce(database, idleKeyedRows)).toMatchObject({ outcome: 'drained', rows: 5 })
      await holder.query('rollback')
      expect(await sizes(database)).toEqual([5])
    }))

  it('is locked only where the walk comes to it, and has no slot in use', () =>
    inDatabase(async database => {
      await slotBuckets(50, { last_used_at: `case slot when 9 then now() else ${before} end` })(database, 100)
      await slotBuckets(10)(database, 300)
      const settings = { keyedRowReclaimBatchSize: 25 }
      expect(await sweepOnce(database, idleKeyedRows, { settings })).toMatchObject({ rows: 20 })
      // The third did not fit, and ended the walk; a lock is seen on its row until somebody writes it.
      const locked = await database.rows(`select from taskq.reservation_slots where xmax <> '0'`)
      expect(locked).toHaveLength(10)
    }))

  it.each([
    ['a large one', 300, 1, 'slot = 299'],
    ['a page of small ones', 2, 300, 'slot = 1'],
  ])('hides none behind it while one slot of each is locked: %s', (_, slots, rows, isLocked) =>
    inDatabase(async database => {
      await slotBuckets(slots, { last_used_at: before })(database, rows)
      const holder = await database.client()
      await holder.query('begin')
      await holder.query(`select from taskq.reservation_slots where ${isLocked} for update`)
      await slotBuckets(5)(database, 20)
      expect(await sweepOnce(database, idleKeyedRows)).toMatchObject({ outcome: 'drained', rows: 100 })
      await holder.query('rollback')
      expect(await sizes(database)).toEqual(Array.from({ length: rows }, () => slots))
    }),
  )

  it.each([
    ['is used', 'last_used_at = now()'],
    ['is taken', 'job_id = gen_random_uuid()'],
    ['is made for good', 'keyed = false'],
    // It moved, so that the delete would miss it and take its siblings.
    ['is written, and is idle still', 'acquired_at = null'],
  ])('of which a slot %s between our snapshot and our lock stays whole (B103)', (_, set) =>
    inDatabase(async database => {
      await slotBuckets(5)(database, 3)
      const held = await holdReads(database, 'reservation_slots')
      const running = sweepOnce(database, idleKeyedRows, { settings: held.settings })
      await held.reached()
      await database.rows(`update taskq.reservation_slots set ${set}
        where (slot = 3 and bucket = (select min(bucket) from taskq.reservation_slots))
          or (slot = 0 and bucket = (select max(bucket) from taskq.reservation_slots))`)
      await held.release()
      expect(await running).toMatchObject({ outcome: 'drained', rows: 5 })
      expect(await sizes(database)).toEqual([5, 5])
    }),
  )

  it('is idle by the period of the settings', () =>
    inDatabase(async database => {
      await insertRows(database, 'reservation_slots', {
        bucket: `'a'`,
        slot: 'n',
        keyed: 'true',
        last_used_at: `now() - interval '90 seconds'`,
      })
      const idleFor = (ms: number) =>
        sweepOnce(database, idleKeyedRows, { settings: { keyedRowReclaimPeriod: ms } })
      expect(await idleFor(120_000)).toMatchObject({ rows: 0 })
      expect(await idleFor(60_000)).toMatchObject({ rows: 1 })
    }))
})

describe('a slot that joins an idle bucket, whose sibling is written first as its table asks,', () => {
  const write = `update taskq.reservation_slots set last_used_at = last_used_at where slot = 0`
  const join = `insert into taskq.reservation_slots (bucket, slot, keyed, last_used_at)
    select bucket, 5, keyed, last_used_at from taskq.reservation_slots where slot = 0`

  it('keeps it whole before its commit', () =>
    inDatabase(async database => {
      await slotBuckets(5)(database, 1)
      const joining = await database.client()
      for (const step of ['begin', write, join]) await joining.query(step)
      expect(await sweepOnce(database, idleKeyedRows)).toMatchObject({ outcome: 'drained', rows: 0 })
      await joining.query('commit')
      expect(await sizes(database)).toEqual([6])
    }))

  it('keeps it whole where it commits between our snapshot and our lock', () =>
    inDatabase(async database => {
      await slotBuckets(5)(database, 1)
      const held = await holdReads(database, 'reservation_slots')
      const running = sweepOnce(database, idleKeyedRows, { settings: held.settings })
      await held.reached()
      const joining = await database.client()
      for (const step of ['begin', write, join, 'commit']) await joining.query(step)
      await held.release()
      expect(await running).toMatchObject({ outcome: 'drained', rows: 0 })
      expect(await sizes(database)).toEqual([6])
    }))

  it('finds none to write where the bucket went first, and makes it anew', () =>
    inDatabase(async database => {
      await slotBuckets(5)(database, 1)
      await sweepOnce(database, idleKeyedRows)
      expect(await database.rows(`${write} returning slot`)).toEqual([])
    }))
})
