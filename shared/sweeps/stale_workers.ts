import type { Settings } from '../core/read-settings.ts'
import { arg, schema, sql } from '../sql/statement.ts'
import { float8 } from '../sql/types.ts'
import { defineSweep, floor, limit } from '../sweeper/define.ts'
import { batchOfOneWay, eligibleOf } from '../sweeper/window.ts'

const ofProcess = arg('processSeconds', float8)
/** A container may be frozen between two invocations, and is the same worker when it thaws. */
const ofLambda = sql`3600`

/**
 * One walk from the longest silent on, as far as the less patient kind goes, and each row by the patience of
 * its own kind. Those that have time yet are passed by inside the window: a page of them hides none behind.
 */
const isSilent = sql`last_seen_at
        <= statement_timestamp() - make_interval(secs => least(${ofProcess}, ${ofLambda}))
      and last_seen_at <= statement_timestamp()
        - make_interval(secs => case kind when 'lambda' then ${ofLambda} else ${ofProcess} end)`

const deleted = sql`
  with due as materialized (
    select id, ctid as place, last_seen_at as key
    from ${schema}.workers
    where ${isSilent} and ${floor(sql`last_seen_at`)}
    order by last_seen_at, id
    limit ${limit}
    for update skip locked
  ),
  deleted as (
    delete from ${schema}.workers w
    where w.ctid = any (array(select place from due))
    returning 1
  )`

/** Beats that a process may miss beyond those after which it gives its jobs up by itself. */
const sparedBeats = 3

export const staleWorkers = defineSweep({
  purpose: 'stale_workers',
  title: 'Forgets workers that fell silent',
  why: `A worker that ends in order takes itself off the list; one that dies stays on it. One that has
not been seen for longer than it would have held its jobs is deleted, a Lambda's after an hour, since a frozen
container thaws as the same worker. Nothing else changes: its jobs are taken back by their leases, and their
attempts keep its name. One that was alive after all is listed again with its next heartbeat.`,
  cadenceMinutes: 1,
  pulse: null,
  batchSize: 'eventWriterBatchSize',
  statementTimeout: 'eventWriterStatementTimeoutMs',
  offAtZero: null,
  drains: true,
  breaker: false,
  flushes: false,
  moves: [],
  args: ({ heartbeatInterval, maxHeartbeatFailures }: Settings) => ({
    processSeconds: (heartbeatInterval * (maxHeartbeatFailures + sparedBeats)) / 1000,
  }),
  arms: [
    {
      table: 'workers',
      index: 'workers_stale',
      batch: batchOfOneWay('stale_workers', deleted, sql`deleted`, 'deleted'),
      eligible: eligibleOf('stale_workers', sql`${schema}.workers`, isSilent),
    },
  ],
  head: null,
})
