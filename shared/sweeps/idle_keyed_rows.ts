import type { Settings } from '../core/read-settings.ts'
import { arg, schema, sql } from '../sql/statement.ts'
import { float8 } from '../sql/types.ts'
import { defineSweep, limit } from '../sweeper/define.ts'
import { batchOfOneWay, eligibleOf } from '../sweeper/window.ts'

const slots = sql`${schema}.reservation_slots`
const buckets = sql`${schema}.rate_limit_buckets`
const entries = sql`${schema}.rate_limit_window_entries`
const horizon = sql`statement_timestamp() - make_interval(secs => ${arg('idleSeconds', float8)})`

/*
 * Slots. A bucket of them goes whole or not at all: one that lost a part would allow less than it says for
 * ever, since it is made anew only where nothing is left of it.
 *
 *     the lowest slots of idle buckets, longest unused first ▶ all slots of each, locked ▶ each the one that
 *        was judged? ▶ of these buckets as many as fit, one at least ▶ deleted
 *
 * The judgement is of our snapshot, and somebody may use one slot of a hundred before we have its lock. So
 * the bucket goes only where we hold each slot that it has, in the very version that was judged: whatever is
 * done to a slot, even what changes no verdict, moves it to another place, where the delete would not see it
 * and take its siblings alone. A slot that somebody has locked is not waited for, and its bucket stays.
 *
 * All that is asked inside the window: a bucket that must stay takes no place in it, and hides none behind
 * it. What was locked in vain is free again with the commit.
 *
 * A slot that joins is in no snapshot and under no lock of ours. So whoever adds to a bucket writes one of
 * its slots first, as its table asks: one that we do not get, or not in the version that was judged.
 */

/** A slot speaks for its bucket where it was used lately, has any trace of a holder, or is not of a key. */
const speaks = sql`s.last_used_at > ${horizon} or s.job_id is not null or s.held_by is not null
      or s.acquired_at is not null or s.lease_expires_at is not null or not s.keyed`

/**
 * The index's predicate and the bound on its key. The siblings are asked inside the window, because idle
 * slots of buckets in use would fill it for ever. The `offset` keeps that one probe of the key a slot; of
 * another `not exists` the planner would make a join over the whole table.
 */
const isIdleSlot = sql`one.keyed and one.last_used_at <= ${horizon}
      and not exists (select from ${slots} s where s.bucket = one.bucket and (${speaks}) offset 0)`

const places = sql`select s.ctid from ${slots} s where s.bucket = one.bucket order by s.slot`

/**
 * The lowest stands for its bucket, so that a hundred slots do not ask each other a hundred times, and brings
 * the others into the window, which ends with the bucket that would no longer fit: one row a slot, of which
 * the first has the places of all.
 */
const slotsDeleted = sql`
  with due as materialized (
    select one.bucket, one.last_used_at as key, own.nth, case own.nth when 1 then own.places end as places
    from ${slots} one
    cross join lateral (
      select held.places, each.nth
      from (select array(${places} for update skip locked) as places offset 0) as held
      cross join lateral unnest(held.places) with ordinality as each (place, nth)
      where held.places = array(${places})
    ) as own
    where one.slot = (select min(slot) from ${slots} s where s.bucket = one.bucket) and ${isIdleSlot}
    order by one.last_used_at, one.bucket
    limit ${limit}
  ),
  chosen as materialized (
    select places
    from (
      select places, sum(cardinality(places)) over longest_first as through,
        row_number() over longest_first as nth
      from due
      where nth = 1
      window longest_first as (order by key, bucket)
    ) as candidates
    where through <= ${limit} or nth = 1
  ),
  deleted as (
    delete from ${slots} s
    where s.ctid = any (array(select unnest(places) from chosen))
    returning 1
  )`

/*
 * Entries of a window log. One that is older than its window counts for nothing, so it may go whoever uses
 * its bucket. In use, a bucket drops them itself: only those of idle buckets are looked for.
 */

/** By `resets` a number that an interval can hold; rounded, because one may be too small for a float. */
const logSeconds = sql`(case when b.resets and not b.state ?| array['tokens', 'tat']
        then round((b.state ->> 'window_seconds')::numeric, 6) end)::float8`

const isIdleBucket = sql`b.keyed and b.resets and b.last_used_at <= ${horizon}`
const isPastEntry = sql`e.bucket = b.bucket
        and e.at <= statement_timestamp() - make_interval(secs => ${logSeconds})`

const entriesDeleted = sql`
  with due as materialized (
    select past.place
    from ${buckets} b
    cross join lateral (
      select e.ctid as place
      from ${entries} e
      where ${isPastEntry}
      order by e.at, e.request_id
      limit ${limit}
      for update skip locked
    ) as past
    where ${isIdleBucket}
    order by b.last_used_at, b.bucket
    limit ${limit}
  ),
  deleted as (
    delete from ${entries} e
    where e.ctid = any (array(select place from due))
    returning 1
  )`

/*
 * Buckets of a rate limit. One may go only where a new one would let through just as much: its tokens are
 * full by now, its next arrival is not in the future, nothing is left in its log. A quota that is never
 * refilled, and a state of which too little is known, is out of the index already. It is one row a bucket, so
 * the lock's own look at the newest version is the second judgement.
 *
 * A state may hold any number, and none may raise: the row would stop all others in every run. `resets` lets
 * through sane ones alone, each asked for inside a `case` of it; the rest is numeric, which holds them all.
 */

/** When the tokens were counted; a text that is no number tells nothing, and nor does what is neither. */
const countedAt = sql`case jsonb_typeof(b.state -> 'at')
          when 'number' then (b.state ->> 'at')::numeric
          when 'string' then jsonb_path_query_first(b.state, 'strict $.at.double()', '{}', true)::numeric
        end`

/** Since the later of that and the bucket's last use, and never less than nothing. */
const refillSeconds = sql`greatest(0, extract(epoch from statement_timestamp())
        - greatest(extract(epoch from b.last_used_at), ${countedAt}))`

const isNew = sql`case
      when not b.resets then false
      when b.state ? 'tokens' then
        (b.state ->> 'tokens')::numeric + (b.state ->> 'refill_per_second')::numeric * ${refillSeconds}
          >= (b.state ->> 'capacity')::numeric
      when b.state ? 'tat' then (b.state ->> 'tat')::numeric <= extract(epoch from statement_timestamp())
      else true
    end
    and not exists (select from ${entries} e where e.bucket = b.bucket offset 0)`

const bucketsDeleted = sql`
  with due as materialized (
    select b.ctid as place
    from ${buckets} b
    where ${isIdleBucket} and ${isNew}
    order by b.last_used_at, b.bucket
    limit ${limit}
    for update skip locked
  ),
  deleted as (
    delete from ${buckets} b
    where b.ctid = any (array(select place from due))
    returning 1
  )`

export const idleKeyedRows = defineSweep({
  purpose: 'idle_keyed_rows',
  title: 'Deletes limits of keys that nobody uses any more',
  why: `A limit for each key, such as a customer, makes rows with the key's first job, and nobody tells when
the last has come. What was unused for \`TASKQ_KEYED_ROW_RECLAIM_PERIOD\` is deleted, but only where that is
provably safe: a limit that is made anew must let through no more than the one that went. One batch of each
table a run, and no drain: there is no hurry, and \`bounded\` says that more is left.`,
  cadenceMinutes: 1,
  pulse: null,
  batchSize: 'keyedRowReclaimBatchSize',
  statementTimeout: 'retentionStatementTimeoutMs',
  offAtZero: 'keyedRowReclaimPeriod',
  drains: false,
  breaker: false,
  flushes: false,
  moves: [],
  args: ({ keyedRowReclaimPeriod }: Settings) => ({ idleSeconds: keyedRowReclaimPeriod / 1000 }),
  arms: [
    {
      table: 'reservation_slots',
      index: 'reservation_slots_idle',
      batch: batchOfOneWay('idle_slots', slotsDeleted, sql`deleted`, 'slots_deleted', 'none'),
      eligible: eligibleOf('idle_slots', sql`${slots} one`, isIdleSlot),
    },
    {
      table: 'rate_limit_window_entries',
      index: 'rate_limit_buckets_idle',
      batch: batchOfOneWay('idle_entries', entriesDeleted, sql`deleted`, 'entries_deleted', 'none'),
      eligible: eligibleOf(
        'idle_entries',
        sql`${buckets} b, ${entries} e`,
        sql`${isIdleBucket} and ${isPastEntry}`,
      ),
    },
    {
      table: 'rate_limit_buckets',
      index: 'rate_limit_buckets_idle',
      batch: batchOfOneWay('idle_buckets', bucketsDeleted, sql`deleted`, 'buckets_deleted', 'none'),
      eligible: eligibleOf('idle_buckets', sql`${buckets} b`, sql`${isIdleBucket} and ${isNew}`),
    },
  ],
  head: null,
})
