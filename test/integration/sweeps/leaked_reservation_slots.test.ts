import { describe, expect, it } from 'vitest'
import { leakedReservationSlots } from '../../../shared/sweeps/leaked_reservation_slots.ts'
import { useDatabase } from '../../support/database.ts'
import { laws } from '../../support/laws/index.ts'
import { insertRows } from '../../support/rows.ts'
import { sweepOnce } from '../../support/sweeping.ts'

/** A slot whose holder has it until an instant. */
const slotUntil = (instant: string) => ({
  bucket: `'b' || gen_random_uuid()`,
  slot: 'n',
  job_id: 'gen_random_uuid()',
  held_by: 'gen_random_uuid()',
  acquired_at: `now() - interval '2 hours'`,
  lease_expires_at: instant,
})
const past = `statement_timestamp() - interval '1 hour' + n * interval '1 millisecond'`
const leaked = slotUntil(past)

laws({
  sweep: leakedReservationSlots,
  due: [leaked, { ...leaked, keyed: 'true' }, slotUntil(`now() - interval '30 minutes'`)],
  spared: [
    slotUntil(`now() + interval '1 hour'`),
    slotUntil(`'infinity'`),
    // Held without a lease: whoever made it so vouches for it.
    { ...leaked, lease_expires_at: 'null' },
    { bucket: `'free' || gen_random_uuid()`, slot: 'n' },
  ],
  leavesTrace: false,
})

const database = useDatabase()

describe('a leaked slot', () => {
  it('is free, and its bucket has as many slots as before', async () => {
    await insertRows(database(), 'reservation_slots', { ...leaked, bucket: `'one'` }, 3)
    expect(await sweepOnce(database(), leakedReservationSlots)).toMatchObject({
      rows: 3,
      byDisposition: { freed: 3 },
      byActor: {},
    })
    const free = { job_id: null, held_by: null, acquired_at: null, lease_expires_at: null }
    const found = await database().rows(`select * from taskq.reservation_slots where bucket = 'one'`)
    expect(found).toMatchObject([free, free, free])
  })

  it('was used last when it was: its bucket idles since then, and not since the sweep', async () => {
    const used = `'2020-01-02T03:04:05Z'`
    await insertRows(database(), 'reservation_slots', { ...leaked, bucket: `'two'`, last_used_at: used })
    await sweepOnce(database(), leakedReservationSlots)
    const found = await database().rows(
      `select last_used_at = ${used} as is_kept from taskq.reservation_slots where bucket = 'two'`,
    )
    expect(found).toEqual([{ is_kept: true }])
  })

  it('is found in as few batches however many leases end at one instant', async () => {
    const instant = `timestamptz '2020-01-01'`
    await insertRows(database(), 'reservation_slots', { ...leaked, lease_expires_at: instant }, 35)
    const settings = { eventWriterBatchSize: 10 }
    expect(await sweepOnce(database(), leakedReservationSlots, { settings })).toMatchObject({
      outcome: 'drained',
      rows: 35,
      batches: 5,
    })
  })
})
