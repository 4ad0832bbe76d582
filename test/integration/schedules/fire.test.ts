import { describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import { addSchedule, deliverable, fireOnce, midnight } from '../../support/schedules.ts'

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
})
