import { schema, sql } from '../sql/statement.ts'
import { defineSweep, floorAt, limit } from '../sweeper/define.ts'
import { batchOfOneWay, eligibleOf } from '../sweeper/window.ts'

/** The index's predicate, verbatim, and the bound on its key. */
const isLeaked = sql`lease_expires_at is not null and lease_expires_at <= statement_timestamp()`

/** The slot was used until its lease ended, and no longer: `last_used_at` stays, and tells how it idles. */
const freed = sql`
  with due as materialized (
    select ctid as place, lease_expires_at as key
    from ${schema}.reservation_slots
    where ${isLeaked} and ${floorAt(sql`lease_expires_at`)}
    order by lease_expires_at, bucket, slot
    limit ${limit}
    for update skip locked
  ),
  freed as (
    update ${schema}.reservation_slots s
    set job_id = null, held_by = null, acquired_at = null, lease_expires_at = null
    where s.ctid = any (array(select place from due))
    returning 1
  )`

export const leakedReservationSlots = defineSweep({
  purpose: 'leaked_reservation_slots',
  title: 'Frees slots whose holder fell silent',
  why: `A slot bounds how many jobs of a kind run at a time. Its holder gives it back; one that dies does not,
and the limit would be smaller by one for ever. So a held slot has a lease, which its holder's heartbeats
extend, and one whose lease has passed is free. Whoever held it finds by the slot's own columns that it is his
no longer, so nothing here asks whether the job still runs.`,
  cadenceMinutes: 1,
  pulse: null,
  batchSize: 'eventWriterBatchSize',
  statementTimeout: 'eventWriterStatementTimeoutMs',
  offAtZero: null,
  drains: true,
  breaker: false,
  flushes: false,
  moves: [],
  args: () => ({}),
  arms: [
    {
      table: 'reservation_slots',
      index: 'reservation_slots_leaked',
      batch: batchOfOneWay('leaked_reservation_slots', freed, sql`freed`, 'freed', 'instant'),
      eligible: eligibleOf('leaked_reservation_slots', sql`${schema}.reservation_slots`, isLeaked),
    },
  ],
  head: null,
})
