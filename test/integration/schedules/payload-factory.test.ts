import { beforeEach, describe, expect, it } from 'vitest'
import type { FiringDefinitions } from '../../../shared/schedules/payload-factory.ts'
import { useDatabase } from '../../support/database.ts'
import {
  addSchedule,
  brokenFacts,
  clearSchedules,
  deliverable,
  fireOnce,
  made,
  midnight,
  standingOf,
} from '../../support/schedules.ts'

const database = useDatabase()

beforeEach(() => clearSchedules(database()))

const definitions: FiringDefinitions = {
  payloadFactories: {
    makes: ({ schedule, dueAt, latenessMs }) => ({
      schedule,
      day: dueAt.toISOString(),
      isLate: latenessMs > 0,
    }),
    huge: () => ({ text: 'x'.repeat(300_000) }),
    unstorable: () => ({ text: 'a\u0000b' }),
    circular: () => {
      const loop: Record<string, unknown> = {}
      loop['itself'] = loop
      return loop
    },
  },
  schemas: {},
}

const settings = { cronPayloadFactoryTimeout: 150 }
const struck = { failures: 1, enabled: true, disabled_by: null, owed: true, waits: true, jobs: 0 }

describe('a payload factory', () => {
  it('makes the payload of each instant, which stands with its job', async () => {
    const id = await addSchedule(database(), { ...made('makes'), ...deliverable, next_fire_at: midnight(2) })
    await fireOnce(database(), { definitions, settings })
    const payloads = await database().rows(
      `select (payload ->> 'day')::timestamptz = occurrence_due_at as fits,
         payload ->> 'isLate' as late from taskq.jobs where schedule_id = '${id}'`,
    )
    expect(payloads).toEqual(Array.from({ length: 3 }, () => ({ fits: true, late: 'true' })))
  })

  it('is called beside the others, so that one that is slow keeps none from its time', async () => {
    const second = Promise.withResolvers<object>()
    const meeting = {
      payloadFactories: {
        waits: () => second.promise,
        comes: () => {
          second.resolve({})
          return {}
        },
      },
      schemas: {},
    }
    await addSchedule(database(), { ...made('waits'), next_fire_at: midnight(2) })
    await addSchedule(database(), made('comes'))
    const result = await fireOnce(database(), { definitions: meeting, settings })
    expect(result).toMatchObject({ byDisposition: { fired: 2 } })
  })

  it.each(['huge', 'unstorable', 'circular', 'missing'])(
    'that is %s strikes its schedule alone',
    async factory => {
      const id = await addSchedule(database(), made(factory))
      expect(await fireOnce(database(), { definitions, settings })).toMatchObject({
        byDisposition: { struck: 1 },
      })
      expect(await standingOf(database(), id)).toMatchObject(struck)
    },
  )

  it('fires the instants before the one that it fails at, and stands at that one', async () => {
    let calls = 0
    const thirdFails = () => {
      if (++calls === 3) throw new Error('the third')
      return {}
    }
    const id = await addSchedule(database(), { ...made('counts'), ...deliverable, next_fire_at: midnight(4) })
    const counting = { payloadFactories: { counts: thirdFails }, schemas: {} }
    await fireOnce(database(), { definitions: counting, settings })
    expect(await standingOf(database(), id)).toMatchObject({
      failures: 1,
      error: 'the third',
      jobs: 2,
      waits: true,
    })
    const [row] = await database().rows(`select next_fire_at = ${midnight(2)} as stands from taskq.schedules`)
    expect(row).toEqual({ stands: true })
    expect(await brokenFacts(database())).toEqual([])
  })

  it('is not begun where it could not have its whole time, and is no strike then', async () => {
    const id = await addSchedule(database(), made('makes'))
    const result = await fireOnce(database(), {
      definitions,
      settings,
      ports: { remainingMs: () => 8750 + 100 },
    })
    expect(result).toMatchObject({ byDisposition: { deferred: 1 } })
    expect(await standingOf(database(), id)).toMatchObject({
      failures: 0,
      deferred: true,
      owed: true,
      waits: true,
      jobs: 0,
    })
  })

  it('that no definition here could know is deferred, and fires where one is', async () => {
    const id = await addSchedule(database(), made('makes'))
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { deferred: 1 } })
    await database().rows('update taskq.schedules set retry_not_before = null')
    await fireOnce(database(), { definitions, settings })
    expect(await standingOf(database(), id)).toMatchObject({
      failures: 0,
      deferred: false,
      error: null,
      jobs: 1,
    })
  })
})
