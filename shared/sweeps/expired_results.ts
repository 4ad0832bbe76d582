import { schema, sql } from '../sql/statement.ts'
import { defineSweep, floor, limit } from '../sweeper/define.ts'
import { batchOf, eligibleOf } from '../sweeper/window.ts'

/** The index's predicate, verbatim, and the bound on its key: a result has expired at its very instant. */
const isExpired = sql`result is not null and result_expires_at <= statement_timestamp()`

/**
 * Whoever cleared or renewed a result between our snapshot and our lock has moved its row: the lock asks the
 * newest version again, and the update sees no other than the one that we chose, so that nothing is cleared
 * or counted twice. The stamp stays and says that there was a result.
 */
const cleared = sql`
  with due as materialized (
    select id, ctid as place, result_expires_at as key
    from ${schema}.jobs
    where ${isExpired} and ${floor(sql`result_expires_at`)}
    order by result_expires_at, id
    limit ${limit}
    for update skip locked
  ),
  cleared as (
    update ${schema}.jobs j
    set result = null, result_size_bytes = null
    where j.ctid = any (array(select place from due))
    returning j.actor, 'cleared' as disposition
  )`

export const expiredResults = defineSweep({
  purpose: 'expired_results',
  title: 'Clears results that nobody may read any more',
  why: `A result is kept for as long as its actor says, which is often shorter than the job's own record is
worth keeping, and it may be the largest part of the row. When its time has passed it is cleared, whatever the
job's state; that there was one, and until when, stays. No event tells of it: a reader knows by the stamp.`,
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
      table: 'jobs',
      index: 'jobs_expired_results',
      batch: batchOf('expired_results', cleared, sql`cleared`),
      eligible: eligibleOf('expired_results', sql`${schema}.jobs`, isExpired),
    },
  ],
  head: null,
})
