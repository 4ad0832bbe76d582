import { describe, expect, test } from 'vitest'
import { driverOf } from '../../../functions/runtime/driver.ts'
import { settingsWith } from '../../support/sweeping.ts'

const at = (host: string) => `postgres://app:secret@${host}/app?sslmode=require`

describe('the driver goes by the host', () => {
  test.each([
    ['ep-cool-name-123456.eu-central-1.aws.neon.tech', 'neon'],
    ['ep-cool-name-123456-pooler.eu-central-1.aws.neon.tech:5432', 'neon'],
    ['db.example.com', 'pg'],
    ['neon.tech.example.com', 'pg'],
    ['notneon.tech', 'pg'],
  ])('%s: %s', (host, driver) => expect(driverOf(settingsWith(), at(host))).toBe(driver))
})

test('unless the setting says which', () => {
  expect(driverOf(settingsWith({ databaseDriver: 'neon' }), at('localhost'))).toBe('neon')
  expect(driverOf(settingsWith({ databaseDriver: 'pg' }), at('ep-x.aws.neon.tech'))).toBe('pg')
})
