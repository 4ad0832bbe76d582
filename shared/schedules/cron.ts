import { arg, schema, sql, statement } from '../sql/statement.ts'
import { float8, text } from '../sql/types.ts'
import type { Routine } from '../sweeper/define.ts'
import { eligibleOf } from '../sweeper/window.ts'

/** What a tick looks at: the predicate of `schedules_due`, and the bound on its key. */
export const isDue = sql`enabled and tick_at <= statement_timestamp()`

/** How many schedules are due, up to a number. */
export const eligible = eligibleOf('cron', sql`${schema}.schedules`, isDue)

/** The function that fires schedules: what everybody but its own tick needs to know of it. */
export const cron: Routine = Object.freeze({
  purpose: 'cron',
  title: 'Fires schedules that are due',
  why: `A schedule is a row that says when it is due and what a missed run of it means. Each tick reads the
schedules that are due, decides about every instant since their cursors, and stores jobs, occurrences,
decisions and new cursors in one transaction. An instant is the key of its occurrence, so that none fires
twice whatever locks are held, and a cursor moves only together with its decision, so that none is lost. What
a schedule cannot do, because its payload factory fails or its actor is unknown, counts against that schedule
alone.`,
  cadenceMinutes: 1,
  pulse: {
    interval: null,
    untilNext: statement(
      'cron-until-next',
      { ms: float8.orNull },
      sql`select extract(epoch from tick_at - clock_timestamp())::float8 * 1000 as ms
  from ${schema}.schedules
  where enabled and tick_at > ${arg('after', text)}::timestamptz and tick_at < 'infinity'
  order by tick_at
  limit 1`,
    ),
  },
  batchSize: 'cronTickLimit',
  statementTimeout: 'cronTickTimeoutMs',
  offAtZero: null,
  drains: true,
  breaker: false,
  flushes: true,
  args: () => ({}),
  moves: [
    ['pending', 'cancelled'],
    ['scheduled', 'cancelled'],
  ] as const,
})
