import { arg, type Fragment, schema, sql } from '../../sql/statement.ts'
import { jsonb } from '../../sql/types.ts'
import { placesLeft } from './room.ts'

/** Of `jobs j`: whether it is an instance of a deliverable. */
export const isOwed = sql`coalesce(j.metadata ? 'deliverable', false)`

const given = sql`
  given as materialized (
    select g.* from jsonb_to_recordset(${arg('planned', jsonb)}) as g (
      id uuid, revision int, cursor text, shape text, "onOpen" text, next timestamptz, missed bigint,
      "missedFrom" timestamptz, "missedTo" timestamptz, fires jsonb)
  )`

/**
 * The schedules that still stand as they were planned, locked. One that somebody else has locked is left to
 * him: a tick waits for nobody. Each is found by a probe of its own, for which the planner expects a row: it
 * would take a join by a fence of three columns for one row in all, and what follows for loops in loops.
 */
const heldBy = (fence: Fragment<unknown>) => sql`
  held as materialized (
    select s.id, s.name, s.actor, g.shape, g."onOpen" as on_open, s.payload, s.revision, s.next_fire_at,
      g.next, g.missed, g."missedFrom" as missed_from, g."missedTo" as missed_to, g.fires,
      a.actor is not null as is_known, coalesce(s.queue, a.queue) as queue,
      a.max_attempts, a.retry_kind, a.retry_backoff, a.retry_base, a.retry_cap, a.retry_jitter,
      a.max_pending, a.singleton
    from given g
    cross join lateral (
      select s.*
      from ${schema}.schedules s
      where s.id = g.id and s.revision = g.revision and ${fence}
      for no key update skip locked
    ) as s
    left join ${schema}.actors a on a.actor = s.actor
  ),
  asked as materialized (
    select h.id as schedule_id, h.actor, f.ordinal, f.job, f.due, f.at, f.shifted, f.payload
    from held h
    cross join lateral jsonb_to_recordset(h.fires) as f (
      ordinal int, job uuid, due timestamptz, at timestamptz, shifted bool, payload jsonb)
  )`

/**
 * Their open instances, and those of them that could be locked. One that ended or was locked between the two
 * makes the schedule busy: whether it is open is then known to nobody, and the next tick asks again. A job
 * that was owed when it fired stays owed, whatever its schedule has become: it is nobody's older instance.
 */
const open = sql`
  seen as materialized (
    select j.id, j.schedule_id
    from ${schema}.jobs j
    where j.schedule_id = any (array(select id from held where on_open <> 'add' and fires <> '[]'))
      and j.schedule_id is not null and j.status in ('pending', 'scheduled', 'running')
      and not ${isOwed}
  ),
  locked as materialized (
    select j.id, j.schedule_id, j.actor, j.status, j.unclaimed_since
    from ${schema}.jobs j
    where j.id = any (array(
        select seen.id from seen join held on held.id = seen.schedule_id where held.on_open = 'supersede'))
      and j.status in ('pending', 'scheduled', 'running')
    order by j.id
    for no key update skip locked
  ),
  verdict as materialized (
    select h.*, l.since,
      case
        when h.fires = '[]' then 'moved'
        when not h.is_known then 'unknown_actor'
        when h.on_open = 'supersede' and coalesce(s.jobs, 0) > coalesce(l.jobs, 0) then 'busy'
        when h.on_open = 'skip' and s.jobs > 0 then 'skipped_open'
        else 'fires'
      end as verdict
    from held h
    left join (select schedule_id, count(*) as jobs from seen group by schedule_id) as s
      on s.schedule_id = h.id
    left join (
      -- Only what nobody has ever claimed hands its age on.
      select schedule_id, count(*) as jobs, min(unclaimed_since) filter (where status <> 'running') as since
      from locked group by schedule_id
    ) as l on l.schedule_id = h.id
  )`

/** Each instant by its place among those of its actor, and whether there is room for it. */
const placed = sql`
  room as materialized (
    select v.actor, left_over.places
    from (
      select v.actor, min(v.max_pending) as max_pending, bool_or(v.singleton) as singleton,
        array_agg(distinct v.queue) as queues
      from verdict v
      where v.verdict = 'fires' and (v.max_pending is not null or v.singleton)
      group by v.actor
    ) as v
    cross join lateral (${placesLeft}
    ) as left_over
  ),
  placed as materialized (
    select p.*, coalesce(p.place <= room.places, true) as fits
    from (
      select a.*, v.shape, v.revision,
        row_number() over (partition by a.actor order by a.at, a.schedule_id, a.ordinal) as place
      from asked a
      join verdict v on v.id = a.schedule_id
      where v.verdict = 'fires'
    ) as p
    left join room on room.actor = p.actor
  )`

/** What a tick has read holds still: nobody has fired the schedule meanwhile, or paused it. */
const asPlanned = sql`s.next_fire_at = g.cursor::timestamptz and s.enabled`

/**
 * The first half of a tick's statement: what was planned, against what stands. `verdict` has a row for each
 * schedule that still stands as it was planned, with what may become of it; `placed` one for each of its
 * instants that may fire, and whether there is room for it; `locked` the open instances that it supersedes.
 */
export const judged = sql`${given},${heldBy(asPlanned)},${open},${placed}`

/** The same for who holds the row: he may fire one that is paused, or that has no next instant. */
export const judgedByHand = sql`${given},${heldBy(sql`s.retired_at is null`)},${open},${placed}`
