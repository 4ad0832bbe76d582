import { expect, it } from 'vitest'
import * as shop from '../../../examples/shop/definitions.ts'
import { eveningNews } from '../../../examples/shop/schedules.ts'
import { firingDefinitionsIn } from '../../../shared/schedules/firing-definitions.ts'
import { syncDefinitions } from '../../../shared/schedules/verbs/sync-definitions.ts'
import { useSchedules } from '../../support/schedule-verbs.ts'
import { fireOnce } from '../../support/schedules.ts'
import { settingsWith } from '../../support/sweeping.ts'

const { database } = useSchedules()

it('the example of a shop fires what its payload factory makes', async () => {
  // It is due each minute here, so that nobody waits for an evening.
  const schedules = { ...shop.schedules, 2: { ...eveningNews, cron: '* * * * *' } }
  await syncDefinitions(await database().connect(), { ...shop, schedules }, settingsWith(), 'ada')
  await database().rows(
    `update taskq.schedules set next_fire_at = next_fire_at - interval '1 minute',
       revised_at = revised_at - interval '1 year' where name = 'evening-news'`,
  )
  await database().rows(`update taskq.schedule_revisions set revised_at = revised_at - interval '1 year'`)
  await fireOnce(database(), { definitions: firingDefinitionsIn(shop) })
  const jobs = await database().rows(
    `select payload ->> 'topic' = to_char(occurrence_due_at at time zone 'UTC', 'YYYY-MM-DD') as fits
     from taskq.jobs`,
  )
  expect(jobs).toEqual([{ fits: true }])
})
