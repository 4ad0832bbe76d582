import { arg, type Fragment, literal, type Statement, schema, sql, statement } from '../sql/statement.ts'
import { float8, int4, int8, jsonb, type PgType, text, uuid } from '../sql/types.ts'
import { type BatchRow, floor, notSetAside, only, type Pulse, type Tally } from './define.ts'

/** A statement's name is its purpose's, in kebab-case. */
const named = (purpose: string, suffix = '') => `${purpose.replaceAll('_', '-')}${suffix}`

/**
 * The rows of a window as `stamped (…, at)`, each with a stamp of its own: one reading of the clock a
 * statement, and a microsecond a row, so that stamps are distinct and ordered as the window is. The clock is
 * that of the moment, not of the transaction, so that a stamp is never earlier than what happened before.
 */
export const stamped: Fragment<unknown> = sql`
  stamp as materialized (select clock_timestamp() as now),
  stamped as materialized (
    select due.*,
      stamp.now + (row_number() over (order by due.key, due.id) - 1) * interval '1 microsecond' as at
    from stamp, due
  )`

const batchColumns = {
  taken: int4,
  floor_at: text.orNull,
  floor_id: uuid.orNull,
  acted: int4,
  tally: jsonb as PgType<unknown> as PgType<Tally[]>,
} as const

/** What of the window's last row the next window begins behind. */
const floors = {
  /** Its key and its id, as {@link floor} compares them. */
  row: sql`max(key)::text as floor_at, (array_agg(id order by key desc, id desc))[1] as floor_id`,
  /** Its key alone, for `floorAt`. */
  instant: sql`max(key)::text as floor_at, null::uuid as floor_id`,
  /** Nothing: the window has no one order to begin behind. */
  none: sql`null::text as floor_at, null::uuid as floor_id`,
} as const

const takenWith = (floored: keyof typeof floors) => sql`
    select count(*)::int as taken, ${floors[floored]}
    from due`

/**
 * The one statement of a batch, from its steps: common table expressions of which `due (id, place, key)` is
 * the window, locked, and `changed (actor, disposition)` the rows that were changed. It answers with how many
 * rows the window took and the key of its last, and which of the changed rows went which way.
 *
 * `place` is the locked row's ctid, by which the update finds it again without a walk down the primary key.
 * It cannot move while we hold the lock. Where it moved in the instant before, the update does not see it:
 * that row counts as taken, keeps its state, and is found by the last window, which has a newer snapshot.
 *
 * @example
 * batchOf('promotion', sql`with due as materialized (…), promoted as (update …)`, sql`promoted`)
 */
export function batchOf<Args>(
  name: string,
  steps: Fragment<Args>,
  changed: Fragment<unknown>,
  floored: keyof typeof floors = 'row',
): Statement<BatchRow, Args> {
  const fragment = sql`${steps}
  select taken.*, done.*
  from (${takenWith(floored)}) as taken, (
    select coalesce(sum(ways.rows), 0)::int as acted, coalesce(jsonb_agg(ways), '[]') as tally
    from (
      select actor, disposition, count(*)::int as rows from ${changed} group by actor, disposition
    ) as ways
  ) as done`
  return statement(named(name), batchColumns, fragment as Fragment<Args>)
}

/**
 * The same for rows that are no job's and all go one way: `changed` is one row each. It leaves out the
 * grouping, which would cost such a batch a sixth of its time.
 *
 * @example
 * batchOfOneWay('stale_workers', sql`with due as …, deleted as (delete …)`, sql`deleted`, 'deleted')
 */
export function batchOfOneWay<Args>(
  name: string,
  steps: Fragment<Args>,
  changed: Fragment<unknown>,
  disposition: string,
  floored: keyof typeof floors = 'row',
): Statement<BatchRow, Args> {
  const fragment = sql`${steps}
  select taken.*, done.acted, case when done.acted = 0 then '[]' else jsonb_build_array(jsonb_build_object(
    'actor', null, 'disposition', ${literal(disposition)}, 'rows', done.acted)) end as tally
  from (${takenWith(floored)}) as taken, (
    select count(*)::int as acted from ${changed}
  ) as done`
  return statement(named(name), batchColumns, fragment as Fragment<Args>)
}

/** Counts the rows of `from` that hold to a condition, up to `max`. */
export function eligibleOf<Args>(
  name: string,
  from: Fragment<unknown>,
  isDue: Fragment<Args>,
): Statement<{ eligible: number }, { max: number } & Args> {
  return statement(
    named(name, '-eligible'),
    { eligible: int8 },
    sql`select count(*)::int8 as eligible from (
    select from ${from} where ${isDue} limit ${arg('max', int8)}) as due` as Fragment<{ max: number } & Args>,
  )
}

/**
 * The window of a function of jobs that sets aside what fails by itself: its condition, how many rows hold
 * to it, and its next row. `isDue` is the index's predicate, verbatim, and the bound on its key.
 *
 * @example
 * const overdue = jobWindow('deadline_exceeded', isOverdue, sql`schedule_to_close`)
 * sql`select … from ${schema}.jobs where ${overdue.mayTake} order by schedule_to_close, id limit ${limit}`
 */
export function jobWindow(purpose: string, isDue: Fragment<unknown>, key: Fragment<unknown>) {
  const isTaken = sql`${isDue} and ${notSetAside(purpose)}`
  const mayTake = sql`${isTaken}
      and ${floor(key)} and ${only}`
  const head = sql`select id from ${schema}.jobs where ${mayTake}
  order by ${key}, id
  limit 1
  for update skip locked`
  return {
    mayTake,
    eligible: eligibleOf(purpose, sql`${schema}.jobs`, isTaken),
    head: statement(named(purpose, '-head'), { id: uuid }, head),
  }
}

/** Asks for the next of some jobs to fall due, by the key that they fall due by; what never does is none. */
export function untilNextOf(
  purpose: string,
  { isWaiting, key }: { isWaiting: Fragment<unknown>; key: Fragment<unknown> },
): Pulse['untilNext'] {
  return statement(
    named(purpose, '-until-next'),
    { ms: float8.orNull },
    sql`select extract(epoch from min(${key}) - clock_timestamp())::float8 * 1000 as ms
  from ${schema}.jobs
  where ${isWaiting} and ${key} > ${arg('after', text)}::timestamptz and ${key} < 'infinity'`,
  )
}
