import { arg, type Fragment, type Statement, schema, sql, statement } from '../sql/statement.ts'
import { float8, int4, jsonb, type PgType } from '../sql/types.ts'

/** A metric of the watcher's, as it is published and documented. */
export interface GaugeMetric {
  readonly name: string
  readonly unit: 'Count' | 'Seconds'
  /** What it says, as a phrase; the page of all gauges is made of these. */
  readonly doc: string
  /** Published whatever it reads, so that its silence says something; every other only when not zero. */
  readonly always?: true
}

/** One thing that is read at a moment. */
export interface Gauge extends GaugeMetric {
  /** It asks the server about its sessions, of which a login sees its own; the role that it assumes none. */
  readonly asLogin?: true
  readonly statement: Statement<Reading, GaugeArgs>
}

/** What a gauge answers. */
export interface Reading {
  /** Null where there is nothing to measure, or it cannot be known. */
  value: number | null
  /** Of what it is the sum or the maximum, the worst first. */
  worst: Readonly<Record<string, unknown>>[]
}

/** What the statements of gauges may ask for; each takes what it needs. */
export interface GaugeArgs {
  /** A count goes no further, in each queue. */
  readonly max: number
  /** The functions that should run, and after how many seconds without a success each is stale. */
  readonly functions: readonly string[]
  readonly staleAfterSeconds: readonly number[]
  /** A transaction is told of once it is older. */
  readonly snapshotSeconds: number
}

/** A count goes no further: beyond it the answer is "many", and reading on would cost what a sweep costs. */
export const countMax = 10_000
/** A line of the log stays short. */
export const worstMax = 50

/** The bound of a count. */
export const bound = arg('max', int4)

/** What a gauge makes of the rows that were found. */
export interface Telling {
  readonly value: Fragment<unknown>
  readonly worstFirst: Fragment<unknown>
  /** One of them in JSON, `worst`; with all its columns where absent, and there a null is told as unknown. */
  readonly row?: Fragment<unknown>
}

/**
 * A gauge's statement, from steps whose last, `found`, has a row for each thing that is told of. Its columns
 * are named as the log shall name them.
 */
export function gaugeOf<Args>(
  name: string,
  steps: Fragment<Args>,
  { value, worstFirst, row = sql`to_jsonb(worst)` }: Telling,
): Statement<Reading, Args> {
  const fragment = sql`${steps}
  select (select (${value})::float8 from found) as value, coalesce((
      select jsonb_agg(${row} order by ${worstFirst})
      from (select * from found order by ${worstFirst} limit ${arg('worstMax', int4)}) as worst
    ), '[]') as worst`
  const columns = { value: float8.orNull, worst: jsonb as PgType<unknown> as PgType<Reading['worst']> }
  return statement(name, columns, fragment as Fragment<Args>)
}

/** The arguments of all gauges, from those that differ. */
export function gaugeArgs(given: Pick<GaugeArgs, 'functions' | 'staleAfterSeconds'>) {
  return { ...given, max: countMax, snapshotSeconds: 300, worstMax }
}

/**
 * Seconds since an instant, by the database's clock; null of null. One that lies ahead is 0 s ago, and one
 * before ten years ten years: `infinity`, which a job inserted by hand may hold, has no age, and servers
 * before 17 raise an error where it is subtracted.
 */
export function ageOf(instant: Fragment<unknown>) {
  return sql`case when ${instant} is not null then round(extract(epoch from statement_timestamp()
      - least(greatest(${instant}, statement_timestamp() - interval '10 years'), statement_timestamp())), 3)
    end::float8`
}

/**
 * `name (queue)`: the queues of the jobs that hold to an index's predicate, and at last a null. It hops from
 * one queue's first entry to the next one's, however many jobs each has. A step of `with recursive`.
 */
export function queuesOf(name: Fragment<unknown>, holds: Fragment<unknown>) {
  return sql`${name} as (
    (select j.queue from ${schema}.jobs j where ${holds} order by j.queue limit 1)
    union all
    select (
      select j.queue from ${schema}.jobs j
      where ${holds} and j.queue > ${name}.queue order by j.queue limit 1)
    from ${name} where ${name}.queue is not null
  )`
}

/** `lanes (first, second)`: the same of the first two columns of an index, in pairs, and no null. */
export function lanesOf(first: Fragment<unknown>, second: Fragment<unknown>, holds: Fragment<unknown>) {
  return sql`lanes as (
    (select j.${first}, j.${second} from ${schema}.jobs j
      where ${holds} order by j.${first}, j.${second} limit 1)
    union all
    select next.* from lanes
    cross join lateral (
      select j.${first}, j.${second} from ${schema}.jobs j
      where ${holds} and (j.${first}, j.${second}) > (lanes.${first}, lanes.${second})
      order by j.${first}, j.${second}
      limit 1
    ) as next
  )`
}
