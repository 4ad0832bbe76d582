import { TaskQError } from '../../core/errors.ts'
import type { Runner } from '../../sql/connection.ts'
import { arg, schema, sql, statement } from '../../sql/statement.ts'
import { bool, int4, type PgType, text, uuidArray } from '../../sql/types.ts'
import { type FireOutcome, fired, outcome, type PlannedFire, type PlannedInstant } from '../tick/fire.ts'
import { judgedByHand } from '../tick/judge.ts'
import type { Found } from './verb-ports.ts'

const principal = arg('principal', text)
const action = arg('action', text)

/**
 * Fires instants of one schedule that the caller has locked, by all that a tick goes by: room, what is open,
 * one job an instant. The cursor stays, and so does what failed: neither says anything about a tick. What
 * fired nothing leaves no decision.
 */
export const fireByHand = statement(
  'fire-schedule-by-hand',
  {
    outcome: text as PgType<unknown> as PgType<FireOutcome>,
    fired: int4,
    superseded: int4,
    isDeferred: bool,
    jobs: uuidArray,
  },
  sql`with stamp as materialized (select clock_timestamp() as now),
  ${judgedByHand},${fired},
  noted as (
    update ${schema}.schedules s
    set last_fired_at = stamp.now
    from stamp, summed m
    where s.id = m.id and m.fired > 0
  ),
  decided as (
    insert into ${schema}.schedule_decisions (
      schedule_id, revision, decided_at, cursor_from, cursor_to, action, fired, skipped, superseded,
      principal, note)
    select m.id, m.revision, stamp.now, m.next_fire_at, m.next_fire_at, ${action}, m.fired, m.skipped,
      m.superseded, ${principal}, ${arg('note', text)}
    from stamp, summed m
    where m.fired + m.skipped > 0
  ),
  by_whom as (
    insert into ${schema}.operator_audit (principal, action, target, reason, detail)
    select ${principal}, ${action} || '_schedule', m.name, ${arg('reason', text.orNull)},
      jsonb_build_object('fired', m.fired, 'note', ${arg('note', text)})
    from summed m
    where m.fired + m.skipped > 0
  )
  select
    ${outcome} as outcome,
    coalesce(m.fired, 0) as fired, coalesce(m.superseded, 0) as superseded,
    m.undecided_at is not null as "isDeferred",
    array(select job_id from taken where outcome = 'fired' order by due_at) as jobs
  from given g
  left join verdict v on v.id = g.id
  left join summed m on m.id = g.id`,
)

export interface ByHand {
  readonly action: 'run_now' | 'backfill'
  readonly principal: string
  readonly reason: string | null
  readonly note: string
}

type FiredByHand = NonNullable<(typeof fireByHand)['_row']>

/** Fires some instants; what keeps all of them from it is thrown, with nothing written. */
export async function fireInstants(
  transaction: Runner,
  { held: { id, revision, name, definition }, now }: Found,
  fires: readonly PlannedInstant[],
  how: ByHand,
): Promise<FiredByHand> {
  const nothing = { missed: 0, missedFrom: null, missedTo: null, next: null }
  const { shape, onOpen } = definition
  const planned: PlannedFire[] = [{ id, revision, shape, onOpen, cursor: now, ...nothing, fires }]
  const [done] = await transaction.run(fireByHand, { planned, ...how })
  if (done === undefined || done.outcome === 'stale')
    throw new Error(`schedule "${name}" was locked and is gone`)
  if (done.outcome === 'busy') {
    throw new TaskQError('LOCK_TIMEOUT', 'another transaction holds an open job of the schedule: try again')
  }
  if (done.outcome === 'unknown_actor') {
    throw new TaskQError('ACTOR_UNKNOWN', `actor "${definition.actor}" is unknown here: sync it first`, {
      field: 'actor',
    })
  }
  return done
}
