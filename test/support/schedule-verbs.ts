import { beforeEach } from 'vitest'
import * as z from 'zod'
import { defineActor, type TaskQClient } from '../../functions/entry/client.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import { useDatabase } from './database.ts'
import { clientOn, closesWorkers } from './working.ts'

/** The actor of most schedules under test. */
export const post = defineActor({ name: 'post', payload: z.object({ n: z.number() }) })

/** An intent, daily at midnight in UTC. */
export const dailyIntent = {
  name: 'daily',
  actor: post,
  cron: '0 0 * * *',
  intent: { missed: 'latest', onOpen: 'supersede' },
  payload: { n: 1 },
} as const

/** The same as a deliverable. */
export const dailyDeliverable = {
  name: 'daily',
  actor: post,
  cron: '0 0 * * *',
  deliverable: {},
  payload: { n: 1 },
} as const

export interface StoredDecision {
  readonly action: string
  readonly revision: number
  readonly principal: string | null
  readonly note: string | null
  readonly from: Date | null
  readonly to: Date | null
  /** Whether its end is where the cursor stands. */
  readonly stands: boolean
}

/** A database without schedules before each test, and clients on it. */
export function useSchedules() {
  const database = useDatabase()
  closesWorkers()
  beforeEach(() =>
    database().rows(`truncate taskq.jobs, taskq.actors, taskq.schedules, taskq.schedule_revisions,
      taskq.schedule_occurrences, taskq.schedule_decisions, taskq.operator_audit cascade`),
  )
  return {
    database,
    schedules: async (settings: Partial<Settings> = {}): Promise<TaskQClient['schedules']> =>
      (await clientOn(database(), settings)).schedules,

    rowOf: async (name = 'daily') => {
      const [row] = await database().rows('select * from taskq.schedules where name = $1', [name])
      return row as Record<string, unknown>
    },

    decisions: (name = 'daily') =>
      database().rows<StoredDecision>(
        `select d.action, d.revision, d.principal, d.note, d.cursor_from as from, d.cursor_to as to,
           d.cursor_to is not distinct from s.next_fire_at as stands
         from taskq.schedule_decisions d join taskq.schedules s on s.id = d.schedule_id
         where s.name = $1 order by d.id`,
        [name],
      ),

    /** Moves a cursor back as if no tick had come, and its definition with it. */
    owingSince: (instant: string, name = 'daily') =>
      database().rows(
        `with moved as (
           update taskq.schedules set next_fire_at = ${instant}, revised_at = ${instant} - interval '1 year'
           where name = $1 returning id
         ), revised as (
           update taskq.schedule_revisions set revised_at = revised_at - interval '2 years'
           where schedule_id in (select id from moved)
         )
         update taskq.schedule_decisions set cursor_to = ${instant}
         where schedule_id in (select id from moved)`,
        [name],
      ),

    audited: () =>
      database().rows('select principal, action, target, reason from taskq.operator_audit order by id'),
  }
}
