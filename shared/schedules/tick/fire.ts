import { schema, sql, statement } from '../../sql/statement.ts'
import { bool, int4, type PgType, text, uuid } from '../../sql/types.ts'
import type { Answers } from '../firing.ts'
import { judged } from './judge.ts'

/** One schedule as a tick has planned it: the fence, what it fires, and where its cursor goes. */
export interface PlannedFire {
  readonly id: string
  readonly revision: number
  /** The answers of the definition that held at its instants. */
  readonly shape: Answers['shape']
  readonly onOpen: Answers['onOpen']
  /** Where the cursor stood when the plan was made, as the database wrote it. */
  readonly cursor: string
  /** Where it goes; null: no instant comes any more. */
  readonly next: string | null
  readonly missed: number
  readonly missedFrom: string | null
  readonly missedTo: string | null
  readonly fires: readonly PlannedInstant[]
}

/** One instant that is to become a job. */
export interface PlannedInstant {
  readonly ordinal: number
  readonly job: string
  /** The instant that it is for. */
  readonly due: string
  /** The instant at which it fires: later by the schedule's part of the smear. */
  readonly at: string
  readonly shifted: boolean
  /** What its payload factory made; absent: the schedule's own. */
  readonly payload?: unknown
}

/**
 * What became of a schedule. `fired`: at least one job was stored. `skipped_open`: an instance is open, or
 * its actor or queue takes no more, and an intent does not insist. `moved`: nothing was to be fired.
 * `deferred`: a deliverable must wait for room. `busy`: somebody holds an open instance locked. `stale`: it
 * was edited, fired, paused or locked meanwhile. `unknown_actor`: nothing was done.
 */
export type FireOutcome = 'fired' | 'skipped_open' | 'moved' | 'deferred' | 'busy' | 'stale' | 'unknown_actor'

/** The instants that were decided here and nowhere before: of the others another tick has made the job. */
const taken = sql`
  taken as (
    insert into ${schema}.schedule_occurrences (schedule_id, due_at, outcome, job_id, revision, decided_at)
    select i.schedule_id, i.due, i.outcome, i.job, i.revision, stamp.now
    from stamp, (
      select p.schedule_id, p.due, 'fired' as outcome, p.job, p.revision from placed p where p.fits
      union all
      select p.schedule_id, p.due, 'skipped_open', null, p.revision
      from placed p where not p.fits and p.shape = 'intent'
      union all
      select a.schedule_id, a.due, 'skipped_open', null, v.revision
      from asked a join verdict v on v.id = a.schedule_id where v.verdict = 'skipped_open'
    ) as i
    on conflict do nothing
    returning schedule_id, due_at, outcome, job_id
  )`

/**
 * An instant that nobody claimed since keeps the age of what it supersedes, so that a consumer that died
 * cannot hide behind newer and newer jobs. Instances of an intent have one identity: they run one at a time.
 */
const stored = sql`
  stored as (
    insert into ${schema}.jobs (
      id, queue, actor, payload, status, max_attempts,
      retry_kind, retry_backoff, retry_base, retry_cap, retry_jitter,
      created_at, scheduled_at, first_due_at, unclaimed_since,
      identity_key, schedule_id, occurrence_due_at, metadata)
    select
      p.job, v.queue, v.actor, coalesce(p.payload, v.payload, 'null'), 'pending', v.max_attempts,
      v.retry_kind, v.retry_backoff, v.retry_base, v.retry_cap, v.retry_jitter,
      stamp.now + (row_number() over (order by p.at, p.job) - 1) * interval '1 microsecond',
      p.at, p.at, least(p.at, v.since),
      case v.shape when 'intent' then 'schedule:' || v.id end, v.id, p.due,
      jsonb_build_object(
        'schedule', v.name,
        'latenessMs', round(extract(epoch from stamp.now - p.at) * 1000)::bigint)
        || case when p.shifted then jsonb_build_object('shifted', true) else '{}' end
        || case v.shape when 'deliverable' then jsonb_build_object('deliverable', true) else '{}' end
    from stamp, placed p
    join verdict v on v.id = p.schedule_id
    -- In brackets it stays one look-up a row; a join would be planned for few rows, and loop.
    where (p.job in (select job_id from taken)) is true
    order by p.at, p.job
    returning id, schedule_id
  )`

/** What the newest instance leaves no room for: what waits is cancelled, what runs is told to be the last. */
const superseded = sql`
  superseded as (
    update ${schema}.jobs j
    set
      status = case j.status when 'running' then j.status else 'cancelled' end,
      finished_at = case j.status when 'running' then j.finished_at else l.at end,
      cancel_reason = case j.status
        when 'running' then j.cancel_reason else 'superseded by job ' || l.successor end,
      superseded_by = l.successor
    from (
      select l.id, l.schedule_id, l.status, s.id as successor,
        stamp.now + (row_number() over (order by l.id) - 1) * interval '1 microsecond' as at
      from stamp, locked l
      join stored s on s.schedule_id = l.schedule_id
    ) as l
    where j.id = l.id and j.id = any (array(select id from locked))
      and j.status in ('pending', 'scheduled', 'running')
    returning j.id, j.schedule_id, j.actor, j.attempt, l.status as from_state, j.status as to_state, l.at
  ),
  told as (
    insert into ${schema}.job_events (job_id, occurred_at, kind, detail)
    select s.id, s.at, 'state_change', jsonb_build_object(
      'from_state', s.from_state, 'to_state', s.to_state, 'reason', 'superseded',
      'attempt', s.attempt, 'actor', s.actor)
    from superseded s
    where s.to_state = 'cancelled'
    order by s.at
  )`

/** Per schedule: what was done, and the first instant that found no room and stays owed. */
const summed = sql`
  summed as materialized (
    select v.*, coalesce(t.fired, 0) as fired, coalesce(t.skipped, 0) as skipped,
      coalesce(s.jobs, 0) as superseded, left_over.at as undecided_at
    from verdict v
    left join (
      select schedule_id, count(*) filter (where outcome = 'fired')::int as fired,
        count(*) filter (where outcome = 'skipped_open')::int as skipped
      from taken group by schedule_id
    ) as t on t.schedule_id = v.id
    left join (select schedule_id, count(*)::int as jobs from superseded group by schedule_id) as s
      on s.schedule_id = v.id
    left join (
      select schedule_id, min(at) as at from placed where not fits and shape <> 'intent' group by schedule_id
    ) as left_over on left_over.schedule_id = v.id
    where v.verdict in ('fires', 'moved', 'skipped_open')
  )`

/** Occurrences, jobs, and what they supersede, of what was judged. */
export const fired = sql`${taken},${stored},${superseded},${summed}`

/** A skipped instant is neither a failure nor the end of a row of them: only a fire forgets what failed. */
const moved = sql`
  moved as (
    update ${schema}.schedules s
    set
      next_fire_at = case when m.undecided_at is null then m.next else m.undecided_at end,
      last_fired_at = case when m.fired > 0 then stamp.now else s.last_fired_at end,
      consecutive_failures = case when m.fired > 0 then 0 else s.consecutive_failures end,
      last_fire_error = case
        when m.undecided_at is not null then 'deferred: its actor or queue takes no more jobs at present'
        when m.fired > 0 then null
        else s.last_fire_error
      end,
      retry_not_before = case when m.undecided_at is not null then stamp.now + interval '15 seconds' end,
      deferred_since = case when m.undecided_at is not null then coalesce(s.deferred_since, stamp.now) end
    from stamp, summed m
    where s.id = m.id and s.id = any (array(select id from summed))
    returning m.id, m.revision, m.next_fire_at as cursor_from, s.next_fire_at as cursor_to,
      m.fired, m.skipped, m.missed, m.missed_from, m.missed_to, m.superseded
  ),
  decided as (
    insert into ${schema}.schedule_decisions (
      schedule_id, revision, decided_at, cursor_from, cursor_to, action,
      fired, skipped, missed, missed_from, missed_to, superseded)
    select m.id, m.revision, stamp.now, m.cursor_from, m.cursor_to, 'fire',
      m.fired, m.skipped, m.missed, m.missed_from, m.missed_to, m.superseded
    from stamp, moved m
    where m.cursor_to is distinct from m.cursor_from
    order by m.cursor_from, m.id
  )`

/** What became of a schedule, as {@link FireOutcome} says, by `verdict v` and `summed m`. */
export const outcome = sql`case
      when v.id is null then 'stale'
      when v.verdict in ('busy', 'unknown_actor') then v.verdict
      when m.fired > 0 then 'fired'
      when m.undecided_at is not null then 'deferred'
      when m.skipped > 0 then 'skipped_open'
      else 'moved'
    end`

/**
 * Fires what a tick has planned, in one statement: occurrences, jobs, what they supersede, cursors and
 * decisions. One row a schedule that was given.
 *
 *     given ─▶ held ─▶ asked ────────────────┐
 *               │                            ▼
 *               └─▶ seen ─▶ locked ─▶ verdict ─▶ room ─▶ placed ─▶ taken ─▶ stored ─▶ superseded
 *                                       │                            │        │           │
 *                                       └───────────▶ summed ◀───────┴────────┴───────────┘
 *                                                       └─▶ moved ─▶ decided
 */
export const fire = statement(
  'fire-schedules',
  {
    id: uuid,
    actor: text.orNull,
    outcome: text as PgType<unknown> as PgType<FireOutcome>,
    fired: int4,
    skipped: int4,
    superseded: int4,
    isDeferred: bool,
  },
  sql`with stamp as materialized (select clock_timestamp() as now),
  ${judged},${fired},${moved}
  select g.id, v.actor,
    ${outcome} as outcome,
    coalesce(m.fired, 0) as fired, coalesce(m.skipped, 0) as skipped,
    coalesce(m.superseded, 0) as superseded, m.undecided_at is not null as "isDeferred"
  from given g
  left join verdict v on v.id = g.id
  left join summed m on m.id = g.id`,
)

export type Fired = NonNullable<(typeof fire)['_row']>
