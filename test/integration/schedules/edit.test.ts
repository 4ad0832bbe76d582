import { describe, expect, it } from 'vitest'
import { dailyDeliverable, dailyIntent, useSchedules } from '../../support/schedule-verbs.ts'
import { addSchedule, fireOnce, midnight } from '../../support/schedules.ts'

const { database, schedules, rowOf, decisions, owingSince, audited } = useSchedules()

const duesOf = (name = 'daily') =>
  database().rows<{ due: string }>(
    `select to_char(o.due_at at time zone 'UTC', 'HH24:MI') as due
     from taskq.schedule_occurrences o join taskq.schedules s on s.id = o.schedule_id
     where s.name = $1 order by o.due_at`,
    [name],
  )

const moving = ['next_fire_at', 'tick_at', 'revised_at', 'age_follows_period', 'revision']
/** A row without what every edit moves, its intervals as plain objects. */
const withoutMoving = (row: object) =>
  JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(row).filter(([key]) => !moving.includes(key)))))

describe('an edit', () => {
  it('of a schedule that owes nothing moves its cursor to the first instant as defined now', async () => {
    const taskq = await schedules()
    const { nextAt } = await taskq.create(dailyIntent)
    const edited = await taskq.edit('daily', { cron: '30 0 * * *' }, { reason: 'after the backup' })
    expect(edited).toMatchObject({ changed: true, revision: 2 })
    const [row] = await database().rows(
      `select next_fire_at = date_trunc('day', revised_at - interval '30 minutes 1 ms', 'UTC')
         + interval '1 day 30 minutes' as first,
         revised_at = date_trunc('milliseconds', revised_at) as whole from taskq.schedules`,
    )
    // An instant is a whole millisecond: each is before the edit, or it is not.
    expect(row).toEqual({ first: true, whole: true })
    const [, decision] = await decisions()
    expect(decision).toMatchObject({ action: 'edit', revision: 2, from: nextAt, stands: true })
    expect(decision?.note).toBe(
      `changed recurrence; owed no instant; the next was ${nextAt?.toISOString()} ` +
        `and is ${edited.nextAt?.toISOString()}`,
    )
    expect((await audited()).at(-1)).toMatchObject({ action: 'edit_schedule', reason: 'after the backup' })
  })

  it('keeps what is owed as the old definition said it, and fires the rest by the new one', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    await owingSince(midnight(3))
    const edited = await taskq.edit('daily', { cron: '0 12 * * *', timezone: 'Europe/Berlin' })
    const [row] = await database().rows(`select next_fire_at = ${midnight(3)} as kept from taskq.schedules`)
    expect(row).toEqual({ kept: true })
    expect(edited.note).toMatch(
      /changed recurrence, timezone; keeps 4 instants .*, owed at the old times and by the old .*; then/,
    )
    // As if two days had gone by since.
    await database().rows(`update taskq.schedules set revised_at = ${midnight(1)} - interval '5 hours';
      update taskq.schedule_revisions set revised_at = ${midnight(1)} - interval '5 hours'
      where revision = 2`)
    await fireOnce(database())
    const dues = (await duesOf()).map(({ due }) => due)
    // Both midnights before the edit and, since, noons of Berlin.
    expect(dues.slice(0, 2)).toEqual(['00:00', '00:00'])
    expect(new Set(dues.slice(2))).toEqual(new Set(dues.slice(2).filter(due => /^1[01]:00$/.test(due))))
    expect((await decisions()).at(-1)).toMatchObject({ action: 'fire', stands: true })
  })

  it('forgets what failed, and enables nothing', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    await database().rows(`update taskq.schedules set consecutive_failures = 3, last_fire_error = 'no',
      retry_not_before = now() + interval '1 hour', deferred_since = now(), enabled = false,
      disabled_by = 'auto'`)
    await taskq.edit('daily', { payload: { n: 2 } })
    expect(await rowOf()).toMatchObject({
      consecutive_failures: 0,
      last_fire_error: null,
      retry_not_before: null,
      deferred_since: null,
      enabled: false,
      disabled_by: 'auto',
    })
  })

  it.each([
    ['actor', { actor: 'other' }, { actor: 'other' }],
    ['queue', { queue: 'mail' }, { queue: 'mail' }],
    ['recurrence', { every: '5m' }, { recurrence: 'every 5m', max_unclaimed_age: { minutes: 10 } }],
    ['timezone', { timezone: 'Asia/Tokyo' }, { timezone: 'Asia/Tokyo' }],
    ['startAt', { startAt: new Date('2099-01-01') }, { start_at: new Date('2099-01-01') }],
    ['endAt', { endAt: new Date('2099-01-01') }, { end_at: new Date('2099-01-01') }],
    ['smear', { smear: '2h' }, { smear: { hours: 2 } }],
    ['missedRun', { deliverable: {} }, { shape: 'deliverable', missed: 'all', on_open: 'add' }],
    ['missedRun', { intent: { missed: 'skip', onOpen: 'skip' } }, { missed: 'skip', on_open: 'skip' }],
    ['payload', { payload: { n: 2 } }, { payload: { n: 2 } }],
    ['payload', { payloadFactory: 'made' }, { payload: null, payload_factory: 'made' }],
    ['maxUnclaimedAge', { maxUnclaimedAge: '49h' }, { max_unclaimed_age: { hours: 49 } }],
  ] as const)('changes %s by %o and nothing else', async (named, changes, stored) => {
    await database().rows(`insert into taskq.actors (actor) values ('other')`)
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    const before = await rowOf()
    const edited = await taskq.edit('daily', changes as never)
    expect(edited.note).toContain(`changed ${named}`)
    expect(withoutMoving(await rowOf())).toEqual(withoutMoving({ ...before, ...stored }))
  })

  it('takes back by null what was given, and the age then follows the recurrence again', async () => {
    const taskq = await schedules()
    const endAt = new Date('2099-01-01')
    await taskq.create({ ...dailyIntent, queue: 'mail', endAt, startAt: new Date(0), maxUnclaimedAge: '1h' })
    await taskq.edit('daily', { queue: null, endAt: null, startAt: null, maxUnclaimedAge: null })
    expect(await rowOf()).toMatchObject({
      queue: null,
      start_at: null,
      end_at: null,
      max_unclaimed_age: { hours: 48 },
      age_follows_period: true,
    })
    await taskq.edit('daily', { cron: '@hourly' })
    expect(await rowOf()).toMatchObject({ max_unclaimed_age: { hours: 2 } })
  })

  it('that changes nothing writes nothing', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    const before = await database().rows('select xmin::text from taskq.schedules')
    const { name: _, ...same } = dailyIntent
    expect(await taskq.edit('daily', same)).toMatchObject({ changed: false, revision: 1 })
    expect(await taskq.edit('daily', {})).toMatchObject({ changed: false })
    expect(await database().rows('select xmin::text from taskq.schedules')).toEqual(before)
    expect(await decisions()).toHaveLength(1)
  })

  it('of a row that was made by hand keeps as a revision what it said', async () => {
    const id = await addSchedule(database(), { name: `'daily'`, next_fire_at: midnight(2) })
    const taskq = await schedules()
    await taskq.edit('daily', { cron: '0 12 * * *' })
    const revisions = await database().rows(
      `select revision, definition ->> 'recurrence' as recurrence, principal
       from taskq.schedule_revisions where schedule_id = '${id}' order by revision`,
    )
    expect(revisions).toEqual([
      { revision: 1, recurrence: '0 0 * * *', principal: 'unknown' },
      { revision: 2, recurrence: '0 12 * * *', principal: 'application' },
    ])
    await fireOnce(database())
    expect(await duesOf()).toMatchObject([{ due: '00:00' }])
  })

  it('mends a recurrence that nobody can read', async () => {
    await addSchedule(database(), { name: `'daily'`, recurrence: `'nonsense'`, next_fire_at: midnight(2) })
    const taskq = await schedules()
    const { note } = await taskq.edit('daily', { cron: '0 12 * * *' })
    expect(note).toContain('owed instants of a recurrence that cannot be read; the next was')
    expect((await decisions()).at(-1)).toMatchObject({ action: 'edit', stands: true })
  })
})

describe('an edit that is refused changes nothing', () => {
  it.each([
    ['SCHEDULE_UNKNOWN', 'name', 'nobody', { cron: '@daily' }],
    ['OPTION_INVALID', 'name', 'daily', { name: 'other' }],
    ['OPTION_INVALID', 'enabled', 'daily', { enabled: false }],
    ['OPTION_INVALID', 'every', 'daily', { cron: '@daily', every: '1d' }],
    ['OPTION_INVALID', 'intent.onOpen', 'daily', { intent: { missed: 'skip' } }],
    ['OPTION_INVALID', 'deliverable', 'daily', { deliverable: null }],
    ['OPTION_INVALID', 'endAt', 'daily', { endAt: new Date(1000), startAt: new Date(1000) }],
    ['OPTION_INVALID', 'timezone', 'daily', { timezone: 'Nowhere' }],
    ['ACTOR_UNKNOWN', 'actor', 'daily', { actor: 'stranger' }],
    ['PAYLOAD_INVALID', 'payload.n', 'daily', { actor: dailyIntent.actor, payload: {} }],
    ['PAYLOAD_INVALID', 'payload', 'daily', { payload: () => 1 }],
  ])('%s at %s', async (code, field, name, changes) => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    const before = await rowOf()
    await expect(taskq.edit(name, changes as never)).rejects.toMatchObject({ code, field })
    expect(await rowOf()).toEqual(before)
  })

  it('LOCK_TIMEOUT while a transaction holds it, and done once that has ended', async () => {
    const taskq = await schedules({ cronTickTimeoutMs: 500 })
    await taskq.create(dailyIntent)
    const other = await database().client()
    await other.query('begin; select from taskq.schedules for update')
    await expect(taskq.edit('daily', { cron: '@hourly' })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' })
    await other.query('commit')
    expect(await taskq.edit('daily', { cron: '@hourly' })).toMatchObject({ changed: true })
  })
})
