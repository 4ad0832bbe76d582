import { arg, schema, sql, statement } from '../../sql/statement.ts'
import { bool, int4, int8, jsonb, type PgType, text, textArray, uuid } from '../../sql/types.ts'
import { type Definition, definitionJson, rowOfRevision } from '../definition.ts'
import { merged, type Part, partsOf } from '../firing.ts'
import type { Recurrence } from '../recurrence/recurrence.ts'
import { msOf, timing, timingColumns } from '../tick/due-schedules.ts'
import { isOwed } from '../tick/judge.ts'
import { finiteMs } from './finite-ms.ts'

const names = arg('names', textArray)

/**
 * Locks schedules, in the order of their names, so that two who lock several wait in one order. What they say
 * is read by the next statement: one that waited here has seen an older snapshot.
 */
export const lockSchedules = statement(
  'lock-schedules',
  { id: uuid },
  sql`select s.id from ${schema}.schedules s where s.name = any (${names})
  order by s.name for no key update of s`,
)

/** The database's instant as it is, and as the next whole millisecond: an instant of a schedule is one. */
export const readClock = statement(
  'read-schedule-clock',
  { now: text, nowMs: int8 },
  sql`select to_char(statement_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now,
    ${msOf(sql`statement_timestamp()`)} as "nowMs"`,
)

const definitionType = jsonb as PgType<unknown> as PgType<Definition>

/** Schedules by their names, with all that a verb decides by. */
export const readSchedules = statement(
  'read-schedules',
  {
    id: uuid,
    name: text,
    revision: int4,
    cursorMs: int8.orNull,
    isRetired: bool,
    enabled: bool,
    disabledBy: text.orNull as PgType<unknown> as PgType<'operator' | 'auto' | null>,
    failures: int4,
    lastError: text.orNull,
    hasOpen: bool,
    declared: bool,
    definition: definitionType,
    /** What a definitions module said last; null: none did. */
    declaredDefinition: definitionType.orNull,
    /** Whether the revision that stands is that one. */
    standsAsDeclared: bool,
    ...timingColumns,
  },
  sql`select s.id, s.name, s.revision, ${finiteMs(sql`s.next_fire_at`)} as "cursorMs",
    s.retired_at is not null as "isRetired", s.enabled, s.disabled_by as "disabledBy",
    s.consecutive_failures as failures, s.last_fire_error as "lastError",
    exists (
      select from ${schema}.jobs j
      where j.schedule_id = s.id and j.status in ('pending', 'scheduled', 'running')
        and (s.on_open = 'add' or not ${isOwed})) as "hasOpen",
    s.declared,
    ${definitionJson(sql`s`)} as definition,
    (
      select ${definitionJson(sql`d`)}
      from ${schema}.schedule_revisions r, lateral ${rowOfRevision} as d
      where r.schedule_id = s.id and r.declared
      order by r.revision desc limit 1) as "declaredDefinition",
    exists (
      select from ${schema}.schedule_revisions r
      where r.schedule_id = s.id and r.revision = s.revision and r.declared) as "standsAsDeclared",
    ${timing}
  from ${schema}.schedules s
  where s.name = any (${names})
  order by s.name`,
)

/** A schedule as it was read. */
export type HeldSchedule = NonNullable<(typeof readSchedules)['_row']>

/** A schedule by all of its definitions that still matter; undefined where nobody can read its recurrence. */
export function partsOfHeld(held: HeldSchedule): readonly Part[] | undefined {
  try {
    return partsOf(held.id, held, held.earlier ?? [])
  } catch {
    // Written past every check, by hand: an edit is what mends it.
    return undefined
  }
}

/** Its instants through its edits. */
export function firingOfHeld(held: HeldSchedule): Recurrence | undefined {
  const parts = partsOfHeld(held)
  return parts && merged(parts)
}
