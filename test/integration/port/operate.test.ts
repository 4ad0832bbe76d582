import { beforeEach, describe, expect, it } from 'vitest'
import type { Statement } from '../../../shared/sql/statement.ts'
import {
  listFunctions,
  listSetAside,
  releaseRows,
  resetBreaker,
  switchFunction,
} from '../../../shared/sweeper/operate.ts'
import { promotion } from '../../../shared/sweeps/index.ts'
import { useDatabase } from '../../support/database.ts'
import { insertJobs, scheduledJob } from '../../support/jobs.ts'
import { sweepOnce } from '../../support/sweeping.ts'

const database = useDatabase()
const purpose = 'promotion'
const ada = { principal: 'ada@laptop', reason: 'an outage' }

beforeEach(() =>
  database().rows(`truncate taskq.sweep_state, taskq.sweep_quarantine, taskq.operator_audit;
    truncate taskq.jobs cascade;
    insert into taskq.sweep_state (function) values ('promotion'), ('expired_locks')`),
)

async function operate<Row, Args>(statement: Statement<Row, Args>, args: Args): Promise<Row[]> {
  return (await database().connect()).run(statement, args)
}
const audited = () =>
  database().rows('select principal, action, target, reason, detail from taskq.operator_audit order by id')
const stateOf = async (name = purpose) =>
  (
    await database().rows(
      `select disabled_at is null as is_on, disabled_by, latched_at is not null as is_latched,
        consecutive_aborts as aborts, first_abort_at is not null as has_first
      from taskq.sweep_state where function = $1`,
      [name],
    )
  )[0]

describe('a function that is switched off', () => {
  const off = { purpose, isOff: true, ...ada }

  it('says when and by whom, and the audit has one row for it', async () => {
    expect(await operate(switchFunction, off)).toEqual([{ disabledAt: expect.any(Date) }])
    expect(await stateOf()).toMatchObject({ is_on: false, disabled_by: 'ada@laptop' })
    expect(await stateOf('expired_locks')).toMatchObject({ is_on: true, disabled_by: null })
    expect(await audited()).toEqual([{ ...ada, action: 'disable_function', target: purpose, detail: {} }])
  })

  it('keeps who did it first: a second time changes nothing and is not audited', async () => {
    await operate(switchFunction, off)
    expect(await operate(switchFunction, { ...off, principal: 'bob@desk' })).toEqual([])
    expect(await stateOf()).toMatchObject({ disabled_by: 'ada@laptop' })
    expect(await audited()).toHaveLength(1)
  })

  it('takes nothing until it is on again, which is audited as well', async () => {
    await insertJobs(database(), scheduledJob({ due: true }), 3)
    await operate(switchFunction, off)
    expect(await sweepOnce(database(), promotion)).toMatchObject({ outcome: 'disabled', rows: 0 })
    expect(await operate(switchFunction, { ...off, isOff: false })).toEqual([{ disabledAt: null }])
    expect(await stateOf()).toMatchObject({ is_on: true, disabled_by: null })
    expect(await sweepOnce(database(), promotion)).toMatchObject({ outcome: 'drained', rows: 3 })
    expect(await audited()).toMatchObject([{ action: 'disable_function' }, { action: 'enable_function' }])
    expect(await operate(switchFunction, { ...off, isOff: false })).toEqual([])
    expect(await audited()).toHaveLength(2)
  })

  it.each([true, false])('gets a row where it had none: off %s', async isOff => {
    await database().rows('truncate taskq.sweep_state')
    expect(await operate(switchFunction, { purpose, isOff, ...ada })).toHaveLength(1)
    expect(await stateOf()).toMatchObject({ is_on: !isOff })
    expect(await audited()).toHaveLength(1)
  })

  it('is one change of many who try at once', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => operate(switchFunction, off)))
    expect(all.flat()).toHaveLength(1)
    expect(await audited()).toHaveLength(1)
  })
})

describe('a breaker that is reset', () => {
  const reset = () => operate(resetBreaker, { purpose, ...ada })

  it('loses its latch and its count, and the audit keeps what they were', async () => {
    await database().rows(`update taskq.sweep_state set latched_at = '2026-03-01 03:00Z',
      consecutive_aborts = 3, first_abort_at = now()`)
    expect(await reset()).toEqual([{ wasLatched: true, aborts: 3 }])
    const clean = { is_on: true, disabled_by: null, is_latched: false, aborts: 0, has_first: false }
    expect(await stateOf()).toEqual(clean)
    expect(await stateOf('expired_locks')).toMatchObject({ is_latched: true, aborts: 3 })
    const detail = { latched_at: expect.stringMatching(/^2026-03-01T03:00/), consecutive_aborts: 3 }
    expect(await audited()).toEqual([{ ...ada, action: 'reset_breaker', target: purpose, detail }])
  })

  it('may only have counted', async () => {
    await database().rows('update taskq.sweep_state set consecutive_aborts = 2, first_abort_at = now()')
    expect(await reset()).toEqual([{ wasLatched: false, aborts: 2 }])
    expect(await stateOf()).toMatchObject({ aborts: 0, has_first: false })
    expect(await audited()).toHaveLength(1)
  })

  it('is no change, and not audited, where nothing counted against it', async () => {
    expect(await reset()).toEqual([])
    await database().rows('truncate taskq.sweep_state')
    expect(await reset()).toEqual([])
    expect(await audited()).toEqual([])
  })
})

describe('rows that are released', () => {
  const release = (rowKey: string | null) => operate(releaseRows, { purpose, rowKey, ...ada })
  const asideIn = (name: string) =>
    database().rows('select row_key as key from taskq.sweep_quarantine where function = $1 order by 1', [
      name,
    ])
  const setAside = (name: string, keys: readonly string[]) =>
    database().rows(
      `insert into taskq.sweep_quarantine (function, row_key, until, last_error)
      select $1, key, now() + interval '1 day', 'a bad row' from unnest($2::text[]) as key`,
      [name, keys],
    )

  it('are due again at once: one by its key', async () => {
    const [one = '', other = ''] = await insertJobs(database(), scheduledJob({ due: true }), 2)
    await setAside(purpose, [one, other])
    expect(await sweepOnce(database(), promotion)).toMatchObject({ rows: 0 })
    expect(await release(one)).toEqual([{ rowKeys: [one] }])
    expect(await sweepOnce(database(), promotion)).toMatchObject({ rows: 1 })
    expect(await asideIn(purpose)).toEqual([{ key: other }])
    const told = { action: 'release_rows', target: purpose, detail: { row_keys: [one] } }
    expect(await audited()).toEqual([{ ...ada, ...told }])
  })

  it('or all of one function, and of no other, with one row of the audit', async () => {
    await setAside(purpose, ['b', 'a'])
    await setAside('expired_locks', ['c'])
    expect(await release(null)).toEqual([{ rowKeys: ['a', 'b'] }])
    expect(await asideIn(purpose)).toEqual([])
    expect(await asideIn('expired_locks')).toEqual([{ key: 'c' }])
    expect(await audited()).toMatchObject([{ detail: { row_keys: ['a', 'b'] } }])
  })

  it('are none where the key is another function’s, or nobody’s, and nothing is audited', async () => {
    await setAside('expired_locks', ['c'])
    expect([await release('c'), await release('x'), await release(null)]).toEqual([[], [], []])
    expect(await asideIn('expired_locks')).toHaveLength(1)
    expect(await audited()).toEqual([])
  })

  it('are listed until then, the longest known first', async () => {
    await setAside(purpose, ['a'])
    await setAside('expired_locks', ['c'])
    await database().rows(`insert into taskq.sweep_quarantine
      (function, row_key, until, failures, first_seen_at)
      values ('promotion', 'old', now(), 4, now() - interval '1 hour')`)
    expect(await operate(listSetAside, { purpose })).toMatchObject([
      { rowKey: 'old', failures: 4, lastError: null },
      { rowKey: 'a', failures: 1, lastError: 'a bad row', until: expect.any(Date) },
    ])
    const all = await operate(listSetAside, { purpose: null })
    expect(all.map(each => each.rowKey)).toEqual(['c', 'old', 'a'])
    const listed = await operate(listFunctions, {})
    expect(listed).toMatchObject([
      { function: 'expired_locks', setAside: 1 },
      { function: 'promotion', setAside: 2, disabledAt: null },
    ])
  })
})
