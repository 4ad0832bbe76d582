import * as z from 'zod'
import type { RunResult } from '../../../shared/sweeper/result.ts'
import type { VitalSigns } from '../../../shared/sweeper/vital-signs.ts'
import { defineActor, defineSchedule } from '../../entry/client.ts'
import { letDaysPass, moveOccurrences, scheduleStand } from './schedule-statements.ts'
import { expectEqual, type Tour } from './tour.ts'

/** What the tour's schedules make jobs of. */
export const writePost = defineActor({ name: 'write-post', queue: 'posts', payload: z.object({}) })
export const sendReport = defineActor({ name: 'send-report', queue: 'reports', payload: z.object({}) })

/** "There should be a fresh post": only the newest instance matters. */
export const postDaily = (name: string) =>
  defineSchedule({
    name,
    actor: writePost,
    cron: '0 0 * * *',
    intent: { missed: 'latest', onOpen: 'supersede' },
    maxUnclaimedAge: '48h',
    payload: {},
  })

/** "This report is owed": every instance is. */
export const reportDaily = defineSchedule({
  name: 'daily-report',
  actor: sendReport,
  cron: '0 0 * * *',
  deliverable: {},
  payload: {},
})

/** Lets days pass for one schedule and all that is of it. */
export async function pass({ database }: Tour, name: string, days: number): Promise<void> {
  await database.run(letDaysPass, { name, days })
  const farDays = 1_000_000
  await database.run(moveOccurrences, { name, days: farDays })
  await database.run(moveOccurrences, { name, days: days - farDays })
}

/** Invokes the bundle of `cron`, as its rule would if it had one minute to live; answers what it did. */
export async function tick({ deployment: { cloud } }: Tour): Promise<RunResult> {
  const event = { trigger: 'manual', requestedBy: 'the tour', reason: 'a minute has passed' }
  const result = (await cloud.invoke(cloud.functionOf('cron'), event)) as RunResult
  expectEqual('outcome of cron', result.outcome, 'drained')
  return result
}

/** What the bundle of the watcher says of work that nobody has claimed for too long. */
export async function overLimit({ deployment: { cloud } }: Tour): Promise<number> {
  const definition = cloud.functionOf('vital_signs')
  const signs = (await cloud.invoke(definition, cloud.scheduledEvent(definition))) as VitalSigns
  return signs.gauges['UnclaimedOverLimit'] ?? Number.NaN
}

export async function standOf({ database }: Tour, name: string) {
  const [stand] = await database.run(scheduleStand, { name })
  if (stand === undefined) throw new Error('a count always has a row')
  return stand
}
