import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { unknownSettings } from '../../../functions/runtime/settings.ts'
import { parseDuration } from '../../../shared/core/durations.ts'
import {
  leaseFloorMs,
  readSettings,
  type Settings,
  variableName,
  writeSettings,
} from '../../../shared/core/read-settings.ts'
import { settingsTable } from '../../../shared/core/settings.ts'

type Key = keyof Settings
const keys = Object.keys(settingsTable) as Key[]
const word = fc.stringMatching(/^[a-z][a-z0-9_]{0,15}$/)
const url = word.map(name => `postgres://app:secret@db.example.com/${name}`)

/** Values of the settings whose range is a sentence. */
const texts: Partial<Record<Key, fc.Arbitrary<unknown>>> = {
  databaseUrl: url,
  databaseDirectUrl: url,
  databaseSecretArn: word.map(
    name => `arn:aws:secretsmanager:eu-central-1:111122223333:secret:${name}-AbCdEf`,
  ),
  rolePrefix: word.filter(name => !name.startsWith('pg_')),
  databaseDriver: fc.constantFrom('auto', 'pg', 'neon'),
  schemaName: word.filter(name => !name.startsWith('pg_')),
  environment: word,
  installationId: fc.uuid(),
  deploymentId: word,
  functionsOff: fc.array(fc.stringMatching(/^[a-z_]{1,12}$/), { maxLength: 3 }),
  queues: fc.array(fc.stringMatching(/^[a-z][a-z -]{0,9}[a-z]$/), { maxLength: 3 }),
  logLevel: fc.constantFrom('debug', 'info', 'warn', 'error'),
}

/** Values of a setting with a range of numbers or durations, its ends included. */
function inRange(key: Key): fc.Arbitrary<unknown> {
  const [least = '', most = ''] = settingsTable[key].range.split('..')
  const [min, max] = [least, most].map(text => parseDuration(text) ?? Number(text))
  if (min === undefined || max === undefined || Number.isNaN(min + max))
    throw new Error(`${key} has no generator`)
  return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }))
}

const any = fc
  .record(Object.fromEntries(keys.map(key => [key, texts[key] ?? inRange(key)])))
  .map(value => withLease(value as unknown as Settings))

/** The settings of a lease bind one another; these are chosen so that they fit. */
function withLease(settings: Settings): Settings {
  const short = {
    ...settings,
    heartbeatInterval: 50 + (settings.heartbeatInterval % 10_000),
    maxHeartbeatFailures: settings.maxHeartbeatFailures % 20,
  }
  const lockLease = Math.max(leaseFloorMs(short), short.cleanupGrace + 1, 500)
  return { ...short, lockLease }
}

describe('the environment', () => {
  test('that is written from any settings reads back to the same settings', () => {
    fc.assert(
      fc.property(any, settings => {
        expect(readSettings(writeSettings(settings))).toEqual(settings)
      }),
    )
  })

  test('that is written from some settings has those alone, and all others have their defaults', () => {
    fc.assert(
      fc.property(
        any,
        fc.subarray(keys.filter(key => settingsTable[key].fallback === undefined)),
        (settings, some) => {
          const said = Object.fromEntries(some.map(key => [key, settings[key]]))
          const environment = writeSettings(said)
          expect(Object.keys(environment).sort()).toEqual(some.map(variableName).sort())
          expect(readSettings(environment)).toEqual({ ...readSettings({}), ...said })
        },
      ),
    )
  })

  test('that reads at all is written back in one way, however it was spelt', () => {
    const spelt = { TASKQ_LOCK_LEASE: '120s', TASKQ_CONNECT_TIMEOUT: '2000ms', TASKQ_FUNCTIONS_OFF: 'a , b' }
    expect(writeSettings(readSettings(spelt))).toMatchObject({
      TASKQ_LOCK_LEASE: '2m',
      TASKQ_CONNECT_TIMEOUT: '2s',
      TASKQ_FUNCTIONS_OFF: 'a,b',
    })
  })
})

test('a name that is no setting is told with the nearest one, and is no error at run time', () => {
  const environment = { TASKQ_LOCK_LEES: '1m', TASKQ_TEST_ANYTHING: 'x', PATH: '/bin' }
  expect(unknownSettings(environment)).toEqual(['TASKQ_LOCK_LEES (nearest: TASKQ_LOCK_LEASE)'])
  expect(readSettings(environment)).toEqual(readSettings({}))
})

describe('the settings of a process', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.resetModules()
  })
  const fresh = async () => (await import('../../../functions/runtime/settings.ts')).environmentSettings

  test('are those of its environment, read once', async () => {
    vi.stubEnv('TASKQ_SCHEMA_NAME', 'one')
    const environmentSettings = await fresh()
    expect(environmentSettings().schemaName).toBe('one')
    vi.stubEnv('TASKQ_SCHEMA_NAME', 'two')
    expect(environmentSettings().schemaName).toBe('one')
  })

  test('that are wrong are an error at every call, by the variable’s name', async () => {
    vi.stubEnv('TASKQ_LOCK_LEASE', '60')
    const environmentSettings = await fresh()
    const wrong = expect.objectContaining({ code: 'SETTING_INVALID', field: 'TASKQ_LOCK_LEASE' })
    expect(environmentSettings).toThrow(wrong)
    expect(environmentSettings).toThrow(wrong)
  })
})

test.each(['mysql://app:hunter2@h/d', 'host=h password=hunter2', 'postgres://app:hunter 2@h/d'])(
  'a URL that is none is refused without repeating it: %s',
  text => {
    const refused = () => readSettings({ TASKQ_DATABASE_URL: text })
    expect(refused).toThrow('TASKQ_DATABASE_URL: is not a postgres:// URL')
    expect(refused).not.toThrow(/hunter/)
  },
)

test('a URL may have a line end, as a file has', () => {
  expect(readSettings({ TASKQ_DATABASE_URL: 'postgres://app@h/d\n' }).databaseUrl).toBe('postgres://app@h/d')
})
