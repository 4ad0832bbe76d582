import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createClient, type TaskQClient } from '../../../functions/entry/client.ts'
import { type DatabaseRole, databaseRoles } from '../../../shared/core/names.ts'
import { codeOf } from '../../../shared/sql/failures.ts'
import { type Login, makeLogin } from '../../support/logins.ts'
import { dailyDeliverable, useSchedules } from '../../support/schedule-verbs.ts'
import { addSchedule, deliverable } from '../../support/schedules.ts'
import { settingsWith } from '../../support/sweeping.ts'

const { database } = useSchedules()
const logins = new Map<DatabaseRole, Login>()

beforeAll(async () => {
  for (const role of databaseRoles) logins.set(role, await makeLogin(database(), `in role taskq_${role}`))
})
afterAll(async () => {
  for (const login of logins.values()) await login.drop()
})
beforeEach(() => addSchedule(database(), { name: `'there'`, ...deliverable }))

type Schedules = TaskQClient['schedules']

/** The application, and an operator by the command line, whose role is maintenance. */
const changers: readonly DatabaseRole[] = ['client', 'maintenance']
const readers: readonly DatabaseRole[] = ['client', 'maintenance', 'reader']
const range = { from: new Date(0), to: new Date(86_400_000) }
const { actor: _, ...terms } = dailyDeliverable

/** The verbs, each with the roles that may do it; every other one is refused. */
const verbs: Record<string, { open: readonly DatabaseRole[]; go: (verbs: Schedules) => Promise<unknown> }> = {
  create: { open: changers, go: one => one.create({ ...terms, actor: 'post' }) },
  'create with the definition of its actor': { open: ['client'], go: one => one.create(dailyDeliverable) },
  edit: { open: changers, go: one => one.edit('there', { every: '1h' }) },
  pause: { open: changers, go: one => one.pause('there') },
  resume: { open: changers, go: one => one.resume('there', { missed: 'drop', reason: 'a test' }) },
  retire: { open: changers, go: one => one.retire('there', { reason: 'a test' }) },
  runNow: { open: changers, go: one => one.runNow('there') },
  backfill: { open: changers, go: one => one.backfill('there', range) },
  list: { open: databaseRoles, go: one => one.list() },
  get: { open: databaseRoles, go: one => one.get('there') },
  explain: { open: readers, go: one => one.explain('there') },
  simulate: { open: readers, go: one => one.simulate('there', { until: new Date(range.to) }) },
}

describe.each(Object.entries(verbs))('%s', (_name, { open, go }) => {
  it.each(databaseRoles)('as %s', async role => {
    const settings = settingsWith({ ...database().settings, databaseUrl: logins.get(role)?.url ?? '' })
    const client = await createClient({ settings })
    const outcome = await go(client.schedules)
      .then(
        () => 'done',
        error => codeOf(error) ?? error,
      )
      .finally(() => client.close())
    expect(outcome).toBe(open.includes(role) ? 'done' : 'PERMISSION_DENIED')
  })
})
