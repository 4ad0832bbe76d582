import { arg, type Fragment, schema, sql, statement } from '../sql/statement.ts'
import { int4, textArray } from '../sql/types.ts'
import { defineSweep, limit, notSetAside } from '../sweeper/define.ts'
import { batchOf, jobWindow, untilNextOf } from '../sweeper/window.ts'

/** Due: decided by the database, with a clock that is stable and so may bound an index scan. */
const isDue = sql`status = 'scheduled' and scheduled_at <= statement_timestamp()`
const { mayTake, eligible, head } = jobWindow('promotion', isDue, sql`scheduled_at`)

/** Makes a window of locked rows pending. They stay due since when they were: nothing else changes. */
const promote = (due: Fragment<unknown>) => sql`
  with due as materialized (${due}),
  promoted as (
    update ${schema}.jobs j
    set status = 'pending'
    where j.ctid = any (array(select place from due))
    returning j.actor, 'promoted' as disposition
  )`

const window = sql`
    select id, ctid as place, scheduled_at as key
    from ${schema}.jobs
    where ${mayTake}
    order by scheduled_at, id
    limit ${limit}
    for update skip locked`

const queuesWindow = sql`
    select own.place
    from unnest(${arg('queues', textArray)}) as mine (queue)
    cross join lateral (
      select ctid as place
      from ${schema}.jobs
      where queue = mine.queue and ${isDue} and ${notSetAside('promotion')}
      order by scheduled_at, id
      limit ${limit}
      for update skip locked
    ) as own`

/**
 * Promotes the due jobs of some queues, at most `limit` of each: what a worker does whose claim was empty,
 * so that a due job does not wait for the next minute.
 */
export const promoteQueues = statement(
  'promote-queues',
  { acted: int4 },
  sql`${promote(queuesWindow)}
  select count(*)::int as acted from promoted`,
)

export const promotion = defineSweep({
  purpose: 'promotion',
  title: 'Makes due jobs ready',
  why: `A delayed job, a retry and a snoozed job all wait in \`scheduled\`; a worker claims only what is
\`pending\`. Workers promote their own queues when a claim comes back empty, so this function is for queues
whose workers are busy or gone, and for the precision of a second: it asks for the next due instant and stays
until then where that lies inside its window. It writes no events: a row a promotion would grow without bound
under a denial loop.`,
  cadenceMinutes: 1,
  pulse: {
    interval: null,
    untilNext: untilNextOf('promotion', { isWaiting: sql`status = 'scheduled'`, key: sql`scheduled_at` }),
  },
  batchSize: 'eventWriterBatchSize',
  statementTimeout: 'eventWriterStatementTimeoutMs',
  offAtZero: null,
  drains: true,
  breaker: true,
  flushes: false,
  moves: [['scheduled', 'pending']],
  args: () => ({}),
  arms: [
    {
      table: 'jobs',
      index: 'jobs_promotion',
      batch: batchOf('promotion', promote(window), sql`promoted`),
      eligible,
    },
  ],
  head,
})
