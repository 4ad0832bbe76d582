import { describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import { addSchedule, brokenFacts, deliverable, fireOnce, midnight } from '../../support/schedules.ts'
import { killedBefore, watched } from '../../support/sweeping.ts'

const database = useDatabase()

const factories = {
  payloadFactories: { day: ({ dueAt }: { dueAt: Date }) => ({ day: dueAt.toISOString() }) },
  schemas: {},
}

/** Two intents, one of them with a payload that is made, and two such deliverables of 5 instants. */
async function addFour(): Promise<void> {
  await database().rows('truncate taskq.jobs, taskq.schedules, taskq.schedule_occurrences cascade')
  await database().rows('truncate taskq.schedule_decisions')
  const since = { next_fire_at: midnight(4) }
  await addSchedule(database(), since)
  await addSchedule(database(), { ...since, payload: 'null', payload_factory: `'day'` })
  await addSchedule(database(), { ...since, ...deliverable })
  await addSchedule(database(), { ...since, ...deliverable, payload: 'null', payload_factory: `'day'` })
}

const jobs = async () => {
  const [row] = await database().rows<{ jobs: number }>('select count(*)::int as jobs from taskq.jobs')
  return row?.jobs ?? -1
}

describe('cron', () => {
  it('loses no instant and fires none twice when its backend is ended at any step', async () => {
    let steps = 0
    for (let isReached = true; isReached; steps++) {
      await addFour()
      const calls = { made: 0 }
      const connect = () => killedBefore(database(), steps + 1, calls)
      const settings = { cronMaxCatchUp: 2 }
      await fireOnce(database(), { definitions: factories, settings, ports: { connect } }).catch(
        () => undefined,
      )
      isReached = calls.made > steps
      expect(await brokenFacts(database())).toEqual([])
      await fireOnce(database(), { definitions: factories, settings })
      expect(await brokenFacts(database())).toEqual([])
      expect(await jobs()).toBe(12)
    }
    // The state, the reclaim, and for each of six transactions its read, opening, statement and commit.
    expect(steps).toBeGreaterThan(20)
  })

  it('fires nothing twice when the reply to a commit is lost', async () => {
    await addFour()
    let commits = 0
    const connect = async () => {
      const connection = await database().connect()
      return watched(connection, async step => {
        // The second is that of the first tick, behind the reclaim's.
        if (step !== 'commit' || ++commits !== 2) return
        await connection.commit()
        await connection.close()
        throw Object.assign(new Error('the reply was lost'), { code: 'ECONNRESET' })
      })
    }
    await expect(fireOnce(database(), { definitions: factories, ports: { connect } })).rejects.toThrow(
      'reply',
    )
    expect(await brokenFacts(database())).toEqual([])
    await fireOnce(database(), { definitions: factories })
    expect(await brokenFacts(database())).toEqual([])
    expect(await jobs()).toBe(12)
  })

  it('fires each instant once when twenty run at once under two names of its lock', async () => {
    await addFour()
    for (let n = 0; n < 30; n++) await addSchedule(database(), { ...deliverable, next_fire_at: midnight(4) })
    const underOtherLock = async () => {
      const connection = await database().connect()
      const openBatch = connection.openBatch.bind(connection)
      connection.openBatch = opening => openBatch({ ...opening, lock: opening.lock && 'taskq:leader:taskq' })
      return connection
    }
    const settings = { cronMaxCatchUp: 1, cronTickLimit: 10 }
    const runs = Array.from({ length: 20 }, (_, n) =>
      fireOnce(database(), {
        definitions: factories,
        settings,
        ports: n % 2 === 0 ? { connect: underOtherLock } : {},
      }),
    )
    const results = await Promise.all(runs)
    expect(new Set(results.map(({ outcome }) => outcome))).not.toContain('aborted')
    expect(await brokenFacts(database())).toEqual([])
    await fireOnce(database(), { definitions: factories })
    expect(await brokenFacts(database())).toEqual([])
    expect(await jobs()).toBe(12 + 150)
  })

  it('leaves a schedule alone that was edited or fired since it was read', async () => {
    await addFour()
    const connect = async () => {
      let isFirst = true
      return watched(await database().connect(), async (_, [statement]) => {
        if ((statement as { name?: string } | undefined)?.name !== 'fire-schedules' || !isFirst) return
        isFirst = false
        await database().rows(
          `update taskq.schedules set revision = revision + 1, missed = 'skip' where shape = 'intent'`,
        )
        await database().rows(
          `update taskq.schedules set next_fire_at = ${midnight(-1)} where shape = 'deliverable'`,
        )
      })
    }
    const settings = { cronLatenessTolerance: 0 }
    await fireOnce(database(), { definitions: factories, settings, ports: { connect } })
    // The intents are planned again, as they stand now; what another has fired is not due any more.
    expect(
      await database().rows(
        `select s.shape, count(*)::int as decided, sum(d.fired)::int as fired
       from taskq.schedule_decisions d join taskq.schedules s on s.id = d.schedule_id group by 1`,
      ),
    ).toEqual([{ shape: 'intent', decided: 2, fired: 0 }])
    expect(await jobs()).toBe(0)
  })

  it('leaves a schedule alone that was paused since it was read, and a locked one', async () => {
    await addFour()
    const holder = await database().client()
    await holder.query('begin')
    await holder.query(
      `select from taskq.schedules where shape = 'deliverable' and payload_factory is null for update`,
    )
    const connect = async () =>
      watched(await database().connect(), async (_, [statement]) => {
        if ((statement as { name?: string } | undefined)?.name !== 'fire-schedules') return
        await database().rows(`update taskq.schedules set enabled = false where shape = 'intent'`)
      })
    const result = await fireOnce(database(), { definitions: factories, ports: { connect } })
    expect(result).toMatchObject({ outcome: 'drained', byDisposition: { fired: 5 } })
    expect(await jobs()).toBe(5)
    await holder.query('rollback')
    expect(await fireOnce(database(), { definitions: factories })).toMatchObject({
      byDisposition: { fired: 5 },
    })
    expect(await brokenFacts(database())).toEqual([])
  })

  it.each([0, 1])(
    'leaves at once where its lock is held, with %i days due, and writes nothing',
    async daysDue => {
      await database().rows('truncate taskq.schedules cascade')
      await addSchedule(database(), { next_fire_at: midnight(daysDue - 1) })
      const holder = await database().client()
      await holder.query('begin')
      await holder.query(`select pg_advisory_xact_lock(hashtextextended('taskq:cron:taskq', 0))`)
      const state = () => database().rows('select s::text from taskq.sweep_state s order by function')
      const before = await state()
      expect(await fireOnce(database())).toMatchObject({ outcome: 'contended', batches: 0, remaining: null })
      expect(await state()).toEqual(before)
      await holder.query('rollback')
      expect(await fireOnce(database())).toMatchObject({ outcome: 'drained', rows: daysDue })
    },
  )
})
