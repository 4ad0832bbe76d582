import { beforeEach, describe, expect, it } from 'vitest'
import type { FiringDefinitions } from '../../../shared/schedules/payload-factory.ts'
import { useDatabase } from '../../support/database.ts'
import {
  addSchedule,
  brokenFacts,
  clearSchedules,
  fireOnce,
  made,
  standingOf,
} from '../../support/schedules.ts'

const database = useDatabase()

beforeEach(() => clearSchedules(database()))

const definitions: FiringDefinitions = {
  payloadFactories: {
    hangs: () => new Promise(() => undefined),
    throws: () => {
      throw new Error('no topic\u0000today')
    },
    makes: ({ dueAt }) => ({ day: dueAt.toISOString() }),
  },
  schemas: {},
}
const settings = { cronPayloadFactoryTimeout: 150 }

const struck = { failures: 1, enabled: true, disabled_by: null, owed: true, waits: true, jobs: 0 }

/** An actor whose queue takes no more. */
async function fullActor(): Promise<void> {
  await database().rows(
    `insert into taskq.actors (actor, max_pending) values ('full', 2) on conflict do nothing`,
  )
  await database().rows(`insert into taskq.jobs (actor) values ('full'), ('full')`)
}

describe('among 200 schedules that are due', () => {
  it('one that hangs, one that throws, one of no actor and a full queue hold up no other', async () => {
    await fullActor()
    for (let n = 0; n < 196; n++) await addSchedule(database(), n % 4 === 0 ? made('makes') : {})
    const hung = await addSchedule(database(), made('hangs'))
    const throwing = await addSchedule(database(), made('throws'))
    const unknown = await addSchedule(database(), { actor: `'nobody'` })
    const full = await addSchedule(database(), { actor: `'full'` })

    const result = await fireOnce(database(), { definitions, settings })
    expect(result).toMatchObject({
      outcome: 'drained',
      rows: 197,
      byDisposition: { fired: 196, struck: 3, skipped_open: 1 },
    })
    expect(await standingOf(database(), hung)).toMatchObject({
      ...struck,
      error: 'its payload factory took over 150 ms',
    })
    expect(await standingOf(database(), throwing)).toMatchObject({ ...struck, error: 'no topic\\x00today' })
    expect(await standingOf(database(), unknown)).toMatchObject({
      ...struck,
      error: 'its actor is unknown here',
    })
    expect(await standingOf(database(), full)).toMatchObject({
      failures: 0,
      owed: false,
      jobs: 0,
      skipped: 1,
    })
    expect(await brokenFacts(database())).toEqual([])
  })

  it('ones whose rows the database refuses are struck by name, and all others fire', async () => {
    await database().rows(`create or replace function refuse() returns trigger language plpgsql as $$
      begin if new.payload ? 'bad' then raise exception 'no such tenant'; end if; return new; end $$`)
    await database().rows(
      'create or replace trigger refuse before insert on taskq.jobs for each row execute function refuse()',
    )
    const bad: string[] = []
    for (let n = 0; n < 60; n++) {
      const isBad = n % 20 === 7
      const id = await addSchedule(database(), isBad ? { payload: `'{"bad": ${n}}'` } : {})
      if (isBad) bad.push(id)
    }
    expect(await fireOnce(database())).toMatchObject({
      outcome: 'drained',
      byDisposition: { fired: 57, struck: 3 },
    })
    for (const id of bad)
      expect(await standingOf(database(), id)).toMatchObject({ ...struck, error: 'no such tenant' })
    expect(await brokenFacts(database())).toEqual([])
  })
})

describe('strikes', () => {
  it('disable a schedule at the threshold, by auto, with the instant still owed', async () => {
    const id = await addSchedule(database(), made('throws'))
    const again = () => database().rows('update taskq.schedules set retry_not_before = null')
    for (const failures of [1, 2]) {
      await fireOnce(database(), { definitions, settings })
      expect(await standingOf(database(), id)).toMatchObject({ ...struck, failures })
      // Before its time it is not looked at.
      expect(await fireOnce(database(), { definitions, settings })).toMatchObject({ rows: 0, batches: 0 })
      await again()
    }
    expect(await fireOnce(database(), { definitions, settings })).toMatchObject({
      byDisposition: { struck: 1, disabled: 1 },
    })
    expect(await standingOf(database(), id)).toMatchObject({
      failures: 3,
      enabled: false,
      disabled_by: 'auto',
      owed: true,
    })
    const [decision] = await database().rows('select action, note, fired from taskq.schedule_decisions')
    expect(decision).toEqual({ action: 'disable', note: 'no topic\\x00today', fired: 0 })
    await again()
    expect(await fireOnce(database(), { definitions, settings })).toMatchObject({ rows: 0, batches: 0 })
    expect(await brokenFacts(database())).toEqual([])
  })

  it('are neither added to nor forgiven by an instant that is skipped', async () => {
    const id = await addSchedule(database(), { on_open: `'skip'`, consecutive_failures: '2' })
    await database().rows(`insert into taskq.jobs (actor, schedule_id) values ('post', '${id}')`)
    await fireOnce(database())
    expect(await standingOf(database(), id)).toMatchObject({ failures: 2, skipped: 1, enabled: true })
  })

  it('come from a recurrence that somebody wrote past every check', async () => {
    const id = await addSchedule(database(), { recurrence: `'99 * * * *'` })
    const other = await addSchedule(database(), { timezone: `'Nowhere/At_All'` })
    const healthy = await addSchedule(database())
    expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1, struck: 2 } })
    for (const each of [id, other]) expect(await standingOf(database(), each)).toMatchObject(struck)
    expect(await standingOf(database(), healthy)).toMatchObject({ jobs: 1 })
  })
})

it('an open instance that somebody has locked defers its schedule alone', async () => {
  const id = await addSchedule(database())
  const other = await addSchedule(database())
  await database().rows(`insert into taskq.jobs (actor, schedule_id) values ('post', '${id}')`)
  const holder = await database().client()
  await holder.query('begin')
  await holder.query(`select from taskq.jobs where schedule_id = '${id}' for update`)
  expect(await fireOnce(database())).toMatchObject({
    outcome: 'drained',
    byDisposition: { fired: 1, deferred: 1 },
  })
  expect(await standingOf(database(), id)).toMatchObject({ failures: 0, owed: true, deferred: true, jobs: 1 })
  expect(await standingOf(database(), other)).toMatchObject({ jobs: 1 })
  await holder.query('rollback')
  await database().rows('update taskq.schedules set retry_not_before = null')
  expect(await fireOnce(database())).toMatchObject({ byDisposition: { fired: 1, superseded: 1 } })
})
