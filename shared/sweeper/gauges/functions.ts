import { arg, schema, sql } from '../../sql/statement.ts'
import { int4Array, textArray } from '../../sql/types.ts'
import { ageOf, type Gauge, gaugeOf } from '../gauge.ts'

/**
 * A function without a row counts from when the installation was made: it would be missed otherwise. Nobody
 * expects anything of one that is switched off.
 */
const stale = sql`with found as (
    select known.function, ${ageOf(sql`since`)} as "ageSeconds"
    from unnest(${arg('functions', textArray)}, ${arg('staleAfterSeconds', int4Array)})
      as known (function, seconds)
    cross join ${schema}.installation as installed
    left join ${schema}.sweep_state s on s.function = known.function
    cross join lateral (
      select greatest(s.last_success_at, coalesce(s.installed_at, installed.created_at)) as since) as last
    where s.disabled_at is null
      -- A minute more: the function itself may have been started late.
      and since < statement_timestamp() - make_interval(secs => known.seconds + 60)
  )`

const degraded = sql`with found as (
    select s.function, ${ageOf(sql`s.latched_at`)} as "latchedSeconds",
      s.batch_size as "batchSize", s.batch_size_configured as "batchSizeConfigured"
    from ${schema}.sweep_state s
    where s.latched_at is not null and s.disabled_at is null
  )`

const saturated = sql`with found as (
    select s.function, s.recent_outcomes as outcomes, s.last_rows as rows
    from ${schema}.sweep_state s
    where s.disabled_at is null and cardinality(s.recent_outcomes) >= 5
      and s.recent_outcomes[1:5] <@ array['bounded', 'out_of_time']
  )`

/** Their errors stay in the table: a message may repeat what a payload holds, and the log is read by more. */
const quarantined = sql`with found as (
    select q.function, count(*) as rows, max(q.failures) as failures
    from ${schema}.sweep_quarantine q
    group by q.function
  )`

export const functionGauges: readonly Gauge[] = [
  {
    name: 'SweepsStale',
    unit: 'Count',
    doc:
      'functions without a success for three of their cadences and a minute, daily ones for 30 hours; one ' +
      'that never ran counts from its installation',
    always: true,
    statement: gaugeOf('gauge-sweeps-stale', stale, {
      value: sql`count(*)`,
      worstFirst: sql`"ageSeconds" desc, function`,
    }),
  },
  {
    name: 'SweepsDegraded',
    unit: 'Count',
    doc: 'functions whose breaker has latched: they work at a part of their batch size',
    statement: gaugeOf('gauge-sweeps-degraded', degraded, {
      value: sql`count(*)`,
      worstFirst: sql`"latchedSeconds" desc, function`,
    }),
  },
  {
    name: 'SweepsSaturated',
    unit: 'Count',
    doc: 'functions whose last five runs all left work behind, at a bound or out of time',
    statement: gaugeOf('gauge-sweeps-saturated', saturated, {
      value: sql`count(*)`,
      worstFirst: sql`rows desc, function`,
    }),
  },
  {
    name: 'RowsQuarantined',
    unit: 'Count',
    doc: 'rows that stand aside because each failed by itself',
    statement: gaugeOf('gauge-rows-quarantined', quarantined, {
      value: sql`coalesce(sum(rows), 0)`,
      worstFirst: sql`rows desc, function`,
    }),
  },
]
