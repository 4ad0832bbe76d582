import { describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import type { Columns } from '../../support/rows.ts'
import { addSchedule, fireOnce } from '../../support/schedules.ts'

const database = useDatabase()

const policies = [
  { shape: 'intent', missed: 'latest', on_open: 'supersede' },
  { shape: 'intent', missed: 'latest', on_open: 'skip' },
  { shape: 'intent', missed: 'skip', on_open: 'supersede' },
  { shape: 'intent', missed: 'skip', on_open: 'skip' },
  { shape: 'deliverable', missed: 'all', on_open: 'add' },
] as const
type Policy = (typeof policies)[number]

const hour = `date_trunc('hour', statement_timestamp())`
const before = `${hour} - interval '1 hour'`
const claimed: Columns = { attempt: '1', claim_epoch: '1', unclaimed_since: 'null' }

/** The schedule's instance of an hour ago, by its state; null: there is none. */
const instances: Readonly<Record<string, Columns | null>> = {
  none: null,
  pending: { status: `'pending'`, unclaimed_since: before },
  scheduled: { status: `'scheduled'`, unclaimed_since: before, scheduled_at: `${hour} + interval '1 day'` },
  'in retry': { ...claimed, status: `'scheduled'`, scheduled_at: `${hour} + interval '1 day'` },
  running: { ...claimed, status: `'running'`, lock_expires_at: `${hour} + interval '1 day'` },
  failed: { ...claimed, status: `'failed'`, finished_at: before },
  redriven: { ...claimed, status: `'pending'`, uncharged: '1' },
  archived: { ...claimed, status: `'succeeded'`, finished_at: before },
}
const open = ['pending', 'scheduled', 'in retry', 'running', 'redriven']
const waiting = open.filter(state => state !== 'running')

async function addInstance(schedule: string, state: string): Promise<string | undefined> {
  const columns = instances[state]
  if (columns === null || columns === undefined) return undefined
  const all: Columns = {
    actor: `'post'`,
    schedule_id: `'${schedule}'`,
    occurrence_due_at: before,
    scheduled_at: before,
    first_due_at: before,
    ...columns,
  }
  const [row] = await database().rows<{ id: string }>(
    `insert into taskq.jobs (${Object.keys(all)}) values (${Object.values(all)}) returning id`,
  )
  if (state === 'archived') {
    await database().rows(
      `insert into taskq.jobs_archive
       select j.*, clock_timestamp(), null from taskq.jobs j where id = '${row?.id}'`,
    )
    await database().rows(`delete from taskq.jobs where id = '${row?.id}'`)
  }
  return row?.id
}

async function seen(schedule: string, instance: string | undefined) {
  const [fired] = await database().rows(
    `select id, status::text, unclaimed_since = ${before} as inherits, identity_key,
       occurrence_due_at = ${hour} as due
     from taskq.jobs where schedule_id = '${schedule}' and id is distinct from $1`,
    [instance ?? null],
  )
  const [old] = await database().rows(
    `select status::text, superseded_by, finished_at is not null as ended,
       (select count(*)::int from taskq.job_events e
        where e.job_id = j.id and e.detail ->> 'reason' = 'superseded') as events
     from taskq.jobs j where id = $1`,
    [instance ?? null],
  )
  const [decision] = await database().rows(
    `select action, fired, skipped, superseded, missed::int, cursor_from = ${hour} as from_here,
       cursor_to = ${hour} + interval '1 hour' as to_next
     from taskq.schedule_decisions where schedule_id = '${schedule}'`,
  )
  const [occurrence] = await database().rows(
    `select outcome, job_id, due_at = ${hour} as due
     from taskq.schedule_occurrences where schedule_id = '${schedule}'`,
  )
  return { fired, old, decision, occurrence }
}

/** What must have happened, by the contract's two tables. */
function expected(policy: Policy, state: string, isLate: boolean) {
  const isFired = policy.missed !== 'skip' || !isLate
  const isOpen = open.includes(state)
  const isSkipped = isFired && isOpen && policy.on_open === 'skip'
  const supersedes = isFired && isOpen && policy.on_open === 'supersede'
  return { isFired: isFired && !isSkipped, isSkipped, isMissed: !isFired, supersedes }
}

describe.each(policies)('$shape, missed: $missed, onOpen: $on_open', policy => {
  const cells = Object.keys(instances).flatMap(state => [
    { state, late: 'on time', isLate: false },
    { state, late: 'late', isLate: true },
  ])
  it.each(cells)('$late, with an instance that is $state', async ({ state, isLate }) => {
    const columns = Object.fromEntries(Object.entries(policy).map(([name, value]) => [name, `'${value}'`]))
    const id = await addSchedule(database(), { recurrence: `'0 * * * *'`, next_fire_at: hour, ...columns })
    const instance = await addInstance(id, state)
    await fireOnce(database(), { settings: { cronLatenessTolerance: isLate ? 0 : 86_400_000 } })

    const { fired, old, decision, occurrence } = await seen(id, instance)
    const { isFired, isSkipped, isMissed, supersedes } = expected(policy, state, isLate)
    expect(decision).toEqual({
      action: 'fire',
      fired: Number(isFired),
      skipped: Number(isSkipped),
      superseded: Number(supersedes),
      missed: Number(isMissed),
      from_here: true,
      to_next: true,
    })
    expect(occurrence).toEqual(
      isMissed
        ? undefined
        : { outcome: isFired ? 'fired' : 'skipped_open', job_id: fired?.['id'] ?? null, due: true },
    )
    expect(fired).toEqual(
      isFired
        ? {
            id: expect.any(String),
            status: 'pending',
            inherits: supersedes && ['pending', 'scheduled'].includes(state),
            identity_key: policy.shape === 'intent' ? `schedule:${id}` : null,
            due: true,
          }
        : undefined,
    )
    if (instance === undefined || state === 'archived') return
    const isCancelled = supersedes && waiting.includes(state)
    expect(old).toEqual({
      status: isCancelled ? 'cancelled' : statusOf(state),
      superseded_by: supersedes ? fired?.['id'] : null,
      ended: isCancelled || state === 'failed',
      events: Number(isCancelled),
    })
  })
})

function statusOf(state: string): string {
  if (state === 'redriven') return 'pending'
  return state === 'in retry' ? 'scheduled' : state
}
