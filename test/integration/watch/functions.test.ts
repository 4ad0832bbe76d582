import { beforeEach, describe, expect, it } from 'vitest'
import { routines } from '../../../shared/sweeps/index.ts'
import { useDatabase } from '../../support/database.ts'
import { ago, watchOnce } from '../../support/watching.ts'

const database = useDatabase()

/** Every function as just installed, and never started. */
beforeEach(async () => {
  await database().rows('truncate taskq.sweep_state, taskq.sweep_quarantine')
  for (const { purpose } of routines)
    await database().rows('insert into taskq.sweep_state (function) values ($1)', [purpose])
})

const change = (set: string, purpose = 'promotion') =>
  database().rows(`update taskq.sweep_state set ${set} where function = '${purpose}'`)

describe('a function', () => {
  it('that was installed a moment ago and has never run is not stale', async () => {
    expect((await watchOnce(database())).gauges).toMatchObject({
      SweepsStale: 0,
      SweepsDegraded: 0,
      SweepsSaturated: 0,
      RowsQuarantined: 0,
    })
  })

  it.each([
    ['never ran since it was installed', `installed_at = ${ago('5 minutes')}`],
    ['last succeeded so long ago', `installed_at = ${ago('9 days')}, last_success_at = ${ago('5 minutes')}`],
    [
      'has only failed',
      `installed_at = ${ago('5 minutes')}, last_started_at = now(), last_outcome = 'aborted'`,
    ],
  ])('is stale after three cadences and a minute where it %s', async (_, set) => {
    await change(set)
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['SweepsStale']).toBe(1)
    expect(worst['SweepsStale']).toEqual([{ function: 'promotion', ageSeconds: expect.any(Number) }])
    expect(worst['SweepsStale']?.[0]?.['ageSeconds']).toBeGreaterThanOrEqual(300)
  })

  it('is not stale a few seconds earlier', async () => {
    await change(`installed_at = ${ago('9 days')}, last_success_at = ${ago('220 seconds')}`)
    expect((await watchOnce(database())).gauges['SweepsStale']).toBe(0)
  })

  it('is not stale where an operator or a setting has switched it off', async () => {
    await change(`installed_at = ${ago('1 day')}, disabled_at = now()`)
    await change(`installed_at = ${ago('1 day')}`, 'expired_locks')
    expect((await watchOnce(database())).gauges['SweepsStale']).toBe(1)
    const settings = { functionsOff: ['expired_locks'] }
    expect((await watchOnce(database(), { settings })).gauges['SweepsStale']).toBe(0)
  })

  it('without a row is missed all the same, once the installation is old enough', async () => {
    await database().rows(`delete from taskq.sweep_state where function = 'promotion'`)
    expect((await watchOnce(database())).gauges['SweepsStale']).toBe(0)
    await database().rows(`update taskq.installation set created_at = ${ago('1 hour')}`)
    expect((await watchOnce(database())).worst['SweepsStale']).toMatchObject([{ function: 'promotion' }])
  })

  it('is degraded while its breaker has latched, and nothing else makes it so', async () => {
    await change(`latched_at = ${ago('1 hour')}, batch_size = 25, batch_size_configured = 100`)
    await change(`consecutive_aborts = 2, first_abort_at = now()`, 'expired_locks')
    const { gauges, worst } = await watchOnce(database())
    expect(gauges['SweepsDegraded']).toBe(1)
    expect(worst['SweepsDegraded']).toMatchObject([
      { function: 'promotion', batchSize: 25, batchSizeConfigured: 100 },
    ])
  })

  it('that is switched off is neither degraded nor saturated', async () => {
    await change(`recent_outcomes = '{bounded,bounded,bounded,bounded,bounded}', latched_at = now()`)
    await change('disabled_at = now()')
    expect((await watchOnce(database())).gauges).toMatchObject({ SweepsDegraded: 0, SweepsSaturated: 0 })
  })

  it.each([
    [1, '{bounded,out_of_time,bounded,bounded,out_of_time}'],
    [0, '{bounded,bounded,bounded,bounded}'],
    [0, '{bounded,bounded,drained,bounded,bounded}'],
    [0, '{aborted,aborted,aborted,aborted,aborted}'],
  ])('counts %i to the saturated ones after %s', async (count, outcomes) => {
    await change(`recent_outcomes = '${outcomes}'`)
    expect((await watchOnce(database())).gauges['SweepsSaturated']).toBe(count)
  })
})

it('rows that were set aside are counted by function, and their errors not repeated', async () => {
  await database().rows(`insert into taskq.sweep_quarantine (function, row_key, until, last_error)
    select 'promotion', n::text, now(), 'value "secret"' from generate_series(1, 12) n
    union all select 'prune', 'x', 'infinity', null`)
  const { gauges, worst } = await watchOnce(database())
  expect(gauges['RowsQuarantined']).toBe(13)
  expect(worst['RowsQuarantined']).toEqual([
    { function: 'promotion', rows: 12, failures: 1 },
    { function: 'prune', rows: 1, failures: 1 },
  ])
})
