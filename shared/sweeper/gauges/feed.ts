import { schema, sql } from '../../sql/statement.ts'
import { ageOf, bound, type Gauge, gaugeOf } from '../gauge.ts'

/** The feed's slice: the predicate of `job_events_feed`, verbatim. */
const isOfFeed = sql`e.kind = 'state_change' and e.detail ->> 'reason' = 'lock_expired'`

/** What the feed cannot deliver yet, because a transaction below it may still commit. */
const held = sql`with held as (
    select e.occurred_at from ${schema}.job_events e
    where ${isOfFeed} and e.xact >= pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())
    order by e.xact, e.id
    limit ${bound}
  ),
  found as (
    select count(*) as events, ${ageOf(sql`min(occurred_at)`)} as "ageSeconds" from held having count(*) > 0
  )`

/** How far the feed is behind what was committed. */
export const feedHorizonLag: Gauge = {
  name: 'FeedHorizonLagSeconds',
  unit: 'Seconds',
  doc: 'how old the oldest event is that the feed cannot deliver yet; absent where it can deliver all',
  statement: gaugeOf('gauge-feed-horizon-lag', held, {
    value: sql`max("ageSeconds")`,
    worstFirst: sql`"ageSeconds" desc`,
  }),
}

export const feedGauges: readonly Gauge[] = [feedHorizonLag]
