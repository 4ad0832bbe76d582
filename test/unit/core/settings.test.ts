import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  leaseFloorMs,
  readSettings,
  refuseUnknownVariables,
  variableName,
  writeSettings,
} from '../../../shared/core/read-settings.ts'
import { settingsTable } from '../../../shared/core/settings.ts'

const keys = Object.keys(settingsTable) as (keyof typeof settingsTable)[]
const wrong = (environment: Record<string, string>) => {
  try {
    readSettings(environment)
  } catch (error) {
    return error
  }
  return undefined
}

describe('settings', () => {
  it('have the defaults that the contract names', () => {
    expect(readSettings({})).toMatchObject({
      schemaName: 'taskq',
      eventWriterBatchSize: 100,
      eventWriterStatementTimeoutMs: 1750,
      batchLockTimeoutMs: 250,
      idleInTransactionTimeoutMs: 1000,
      connectTimeout: 10_000,
      sweepDrainBatches: 1000,
      sweepInterval: 60_000,
      invocationWindow: 58_000,
      lockLease: 60_000,
      heartbeatInterval: 10_000,
      maxRetryBackoff: 86_400_000,
      payloadMaxBytes: 262_144,
    })
  })

  it('read back to what was written, each of them, over its whole range', () => {
    const seconds = (min: number, max: number) => fc.integer({ min, max }).map(value => value * 1000)
    const some = fc.record(
      {
        schemaName: fc.constantFrom('taskq', 'staging_2'),
        eventWriterBatchSize: fc.integer({ min: 1, max: 10_000 }),
        batchLockTimeoutMs: fc.integer({ min: 10, max: 5000 }),
        invocationWindow: fc.integer({ min: 0, max: 90_000 }),
        lockLease: seconds(60, 86_400),
        functionsOff: fc.constantFrom([], ['promotion'], ['promotion', 'expired_locks']),
        logLevel: fc.constantFrom('debug' as const, 'error' as const),
        installationId: fc.uuid(),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(some, given => {
        expect(readSettings(writeSettings(given))).toMatchObject(given)
      }),
    )
    const defaults = readSettings({})
    expect(readSettings(writeSettings(defaults))).toEqual(defaults)
  })

  it.each([
    ['TASKQ_EVENT_WRITER_BATCH_SIZE', ['0', '10001', '-1', '1.5', '', 'ten', '1e2']],
    ['TASKQ_EVENT_WRITER_STATEMENT_TIMEOUT_MS', ['49', '10001', '1s']],
    ['TASKQ_LOCK_LEASE', ['60', '0', '1', '2d', '5 m', '59s 1ms']],
    ['TASKQ_SCHEMA_NAME', ['', 'Upper', 'pg_mine', 'a-b', 'a"b', 'taskq\n', 'a'.repeat(49)]],
    ['TASKQ_DATABASE_URL', ['localhost', 'mysql://x', '']],
    ['TASKQ_INSTALLATION_ID', ['1', 'taskq']],
    ['TASKQ_LOG_LEVEL', ['INFO', 'verbose']],
  ])('%s: a wrong value is refused by name', (name, values) => {
    for (const value of values) {
      expect(wrong({ [name]: value }), value).toMatchObject({ code: 'SETTING_INVALID', field: name })
    }
  })

  it('refuses a lease that a cascade of failed heartbeats outlives, with all values named (B061)', () => {
    expect(leaseFloorMs(readSettings({}))).toBe(58_000)
    const error = wrong({ TASKQ_LOCK_LEASE: '57s' })
    expect(error).toMatchObject({ code: 'SETTING_INVALID', field: 'TASKQ_LOCK_LEASE' })
    expect(String(error)).toMatch(/57s.*58s.*HEARTBEAT_INTERVAL 10s.*COMMAND_TIMEOUT 2s.*FAILURES 3/)
    expect(wrong({ TASKQ_CLEANUP_GRACE: '2m' })).toMatchObject({ field: 'TASKQ_CLEANUP_GRACE' })
  })

  it('refuses an unknown name with the nearest that is known, and the seed’s margin with the reason', () => {
    const refused = (name: string) => () => refuseUnknownVariables({ [name]: '1' })
    expect(refused('TASKQ_LOCK_LEESE')).toThrow(/did you mean TASKQ_LOCK_LEASE/)
    expect(refused('TASKQ_RECLAIM_EVENT_VISIBILITY_DELAY')).toThrow(/needs none/)
    expect(() => refuseUnknownVariables({ TASKQ_TEST_ANYTHING: '1', HOME: 'x' })).not.toThrow()
  })

  it('each have a name, a range and a sentence', () => {
    for (const key of keys) {
      expect(variableName(key)).toMatch(/^TASKQ_[A-Z]+(_[A-Z]+)*$/)
      expect(settingsTable[key].doc).toMatch(/\.$/)
      expect(settingsTable[key].range).not.toBe('')
    }
  })
})
