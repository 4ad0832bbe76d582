import { afterEach, describe, expect, it } from 'vitest'
import type { DatabaseRole } from '../../../shared/core/names.ts'
import { useDatabase } from '../../support/database.ts'
import { makeLogin } from '../../support/logins.ts'
import { statusOnce } from '../../support/watching.ts'

const database = useDatabase()
const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

describe('as a login of a role', () => {
  const parts = ['functions', 'queues', 'schedules', 'feed', 'workers'] as const

  it.each<[DatabaseRole, readonly string[]]>([
    ['reader', []],
    ['maintenance', []],
    ['worker', []],
    // It tells a repeated redrive from an event, and so may read what the feed holds.
    ['client', parts.filter(part => part !== 'feed')],
  ])('%s, what it may not read is null and said', async (role, unread) => {
    const login = await makeLogin(database(), `in role taskq_${role}`)
    ends.push(() => login.drop())
    const status = await statusOnce(database(), {}, () => login.connect())
    expect(parts.filter(part => status[part] === null)).toEqual(unread)
    const said = status.reasons.filter(reason => / permission denied /.test(reason))
    expect(said.map(reason => reason.split(':')[0])).toEqual(unread)
    expect(status.healthy).toBe(!unread.includes('queues'))
  })

  it('none may, which is thrown where nothing at all can be read', async () => {
    const login = await makeLogin(database())
    ends.push(() => login.drop())
    const reading = statusOnce(database(), {}, () => login.connect())
    await expect(reading).rejects.toMatchObject({ code: '42501' })
  })
})

it('another installation’s status is refused', async () => {
  const settings = { environment: 'elsewhere' }
  await expect(statusOnce(database(), settings)).rejects.toMatchObject({ code: 'WRONG_TARGET' })
})
