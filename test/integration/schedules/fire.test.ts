import { afterEach, describe, expect, it, vi } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import { addSchedule, brokenFacts, deliverable, fireOnce, midnight } from '../../support/schedules.ts'

const database = useDatabase()

const jobsOf = (id: string) =>
  database().rows<{ status: string; due: string; superseded: boolean; payload: unknown }>(
    `select status::text, occurrence_due_at::date::text as due,
       superseded_by is not null as superseded, payload
     from taskq.jobs where schedule_id = '${id}' order by occurrence_due_at, created_at`,
  )

describe('one tick', () => {
  it('fires the newest instant of an intent and records the others as missed', async () => {
    const id = await addSchedule(database(), { next_fire_at: midnight(14) })
    const result = await fireOnce(database())
    expect(result).toMatchObject({ outcome: 'drained', rows: 1, byDisposition: { fired: 1 } })
    expect(await jobsOf(id)).toHaveLength(1)
    const [decision] = await database().rows(
      `select action, fired, missed::int, missed_from = ${midnight(14)} as first,
         missed_to = ${midnight(1)} as last, cursor_from = ${midnight(14)} as from,
         cursor_to = ${midnight(-1)} as to
       from taskq.schedule_decisions where schedule_id = '${id}'`,
    )
    expect(decision).toEqual({
      action: 'fire',
      fired: 1,
      missed: 14,
      first: true,
      last: true,
      from: true,
      to: true,
    })
  })

  it('fires every instant of a deliverable, the oldest first', async () => {
    const id = await addSchedule(database(), { ...deliverable, next_fire_at: midnight(13) })
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 14 } })
    expect(await jobsOf(id)).toHaveLength(14)
  })

  it('says on each job which instant it is for, and how late it is', async () => {
    const id = await addSchedule(database(), { name: `'late-post'` })
    await fireOnce(database())
    const [job] = await database().rows(
      `select occurrence_due_at = ${midnight(0)} as due, scheduled_at = ${midnight(0)} as scheduled,
         first_due_at = ${midnight(0)} as first, status::text, attempt, queue,
         metadata ->> 'schedule' as name,
         abs((metadata ->> 'latenessMs')::float8
           - extract(epoch from created_at - scheduled_at) * 1000) < 1 as late
       from taskq.jobs where schedule_id = '${id}'`,
    )
    const due = { due: true, scheduled: true, first: true }
    expect(job).toEqual({
      ...due,
      status: 'pending',
      attempt: 0,
      queue: 'default',
      name: 'late-post',
      late: true,
    })
  })

  it('fires each instant later by its own part of the smear, and says for which instant', async () => {
    const ids: string[] = []
    for (let n = 0; n < 20; n++) {
      ids.push(await addSchedule(database(), { smear: `'1 hour'`, next_fire_at: midnight(2) }))
    }
    await fireOnce(database())
    const [seen] = await database().rows<{ jobs: number; parts: number; nominal: boolean; inside: boolean }>(
      `select count(*)::int as jobs, count(distinct scheduled_at - occurrence_due_at)::int as parts,
         bool_and(occurrence_due_at in (${midnight(0)}, ${midnight(1)})) as nominal,
         bool_and(scheduled_at - occurrence_due_at between '0' and '1 hour') as inside
       from taskq.jobs where schedule_id = any ($1)`,
      [ids],
    )
    expect(seen).toMatchObject({ jobs: 20, nominal: true, inside: true })
    expect(seen?.parts).toBeGreaterThan(15)
    expect(await fireOnce(database())).toMatchObject({ rows: 0 })
    expect(await brokenFacts(database())).toEqual([])
  })

  it('fires under a style of dates and a zone whose name an older server takes for another', async () => {
    const [row] = await database().rows<{ name: string }>('select current_database() as name')
    const alter = (setting: string) => database().rows(`alter database ${row?.name} ${setting}`)
    await alter(`set datestyle = 'SQL, DMY'`)
    await alter(`set timezone = 'Asia/Kolkata'`)
    try {
      await addSchedule(database(), { next_fire_at: midnight(3) })
      expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1 } })
    } finally {
      await alter('reset all')
    }
  })

  it('fires nothing again where somebody set a cursor back, and strikes nobody for it', async () => {
    const owed = await addSchedule(database(), { ...deliverable, next_fire_at: midnight(3) })
    const newest = await addSchedule(database(), { next_fire_at: midnight(3) })
    await fireOnce(database())
    const ids = `'${owed}', '${newest}'`
    await database().rows(`update taskq.schedules set next_fire_at = ${midnight(5)} where id in (${ids})`)
    // Two instants of the deliverable lie before all that was fired.
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 2 } })
    const seen = await database().rows(
      `select count(*)::int as jobs, count(distinct occurrence_due_at)::int as instants,
         count(superseded_by)::int as superseded from taskq.jobs where schedule_id in (${ids})
       group by schedule_id order by 1`,
    )
    expect(seen).toEqual([
      { jobs: 1, instants: 1, superseded: 0 },
      { jobs: 6, instants: 6, superseded: 0 },
    ])
    const [struck] = await database().rows(
      `select sum(consecutive_failures)::int as failures from taskq.schedules where id in (${ids})`,
    )
    expect(struck).toEqual({ failures: 0 })
  })

  it('owes what fell due before an edit as it was defined then, and the rest as now', async () => {
    const id = await addSchedule(database(), { ...deliverable, next_fire_at: midnight(4) })
    // Daily until yesterday's noon, and at six o'clock in the morning since.
    await database().rows(
      `insert into taskq.schedule_revisions (schedule_id, revision, definition, revised_at, principal)
       select id, 1, to_jsonb(s), ${midnight(400)}, 'test' from taskq.schedules s where id = '${id}'`,
    )
    const edited = `${midnight(2)} + interval '12 hours'`
    await database().rows(
      `update taskq.schedules set recurrence = '0 6 * * *', revision = 2, revised_at = ${edited}
       where id = '${id}'`,
    )
    await database().rows(
      `insert into taskq.schedule_revisions (schedule_id, revision, definition, revised_at, principal)
       select id, 2, to_jsonb(s), revised_at, 'test' from taskq.schedules s where id = '${id}'`,
    )
    await fireOnce(database())
    const hours = await database().rows<{ hour: string }>(
      `select to_char(occurrence_due_at at time zone 'UTC', 'HH24') as hour
       from taskq.jobs where schedule_id = '${id}' and occurrence_due_at < ${midnight(0)}
       order by occurrence_due_at`,
    )
    expect(hours.map(({ hour }) => hour)).toEqual(['00', '00', '00', '06'])
  })
})

describe('a clock of the host that is a day off', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([-1, 1])('by %i days changes nothing', async days => {
    const ids = [
      await addSchedule(database(), { next_fire_at: midnight(3) }),
      await addSchedule(database(), { ...deliverable, next_fire_at: midnight(3) }),
      await addSchedule(database(), { missed: `'skip'`, next_fire_at: midnight(3) }),
      await addSchedule(database(), { next_fire_at: midnight(-1) }),
    ]
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * 86_400_000 })
    await fireOnce(database(), { settings: { cronLatenessTolerance: 0 } })
    vi.useRealTimers()
    const decided = []
    for (const id of ids) {
      const [row] = await database().rows(
        `select coalesce(sum(fired), 0)::int as fired, coalesce(sum(missed), 0)::int as missed,
           (select next_fire_at = ${midnight(-1)} from taskq.schedules where id = '${id}') as at_next
         from taskq.schedule_decisions where schedule_id = '${id}'`,
      )
      decided.push(row)
    }
    expect(decided).toEqual([
      { fired: 1, missed: 3, at_next: true },
      { fired: 4, missed: 0, at_next: true },
      { fired: 0, missed: 4, at_next: true },
      { fired: 0, missed: 0, at_next: true },
    ])
  })
})
