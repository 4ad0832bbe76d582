import { describe, expect, test } from 'vitest'
import { databaseUrls, readDatabaseSecret } from '../../../functions/runtime/secret.ts'
import { readSettings } from '../../../shared/core/read-settings.ts'

const pooled = 'postgres://app:secret@pool.example.com/app'
const direct = 'postgres://app:secret@db.example.com/app'
const ofRds = { engine: 'postgres', host: 'db.example.com', port: 5432, username: 'app', password: 'secret' }

describe('a secret is read', () => {
  test.each([
    ['as a plain URL', pooled, pooled, pooled],
    ['as a plain URL with a line end', `${pooled}\n`, pooled, pooled],
    ['as our JSON', JSON.stringify({ url: pooled }), pooled, pooled],
    ['as our JSON with an empty way', JSON.stringify({ url: pooled, directUrl: '' }), pooled, pooled],
    [
      'as our JSON without a second way',
      JSON.stringify({ url: `${pooled}\n`, directUrl: null }),
      pooled,
      pooled,
    ],
    ['as our JSON with both ways', JSON.stringify({ url: pooled, directUrl: direct }), pooled, direct],
    [
      'as the JSON of RDS',
      JSON.stringify({ ...ofRds, dbname: 'app' }),
      `${at('db.example.com')}/app`,
      undefined,
    ],
    [
      'of RDS with its port as text',
      JSON.stringify({ ...ofRds, port: '5433' }),
      `${at('db.example.com:5433')}/postgres`,
      undefined,
    ],
    [
      'of Aurora without a port',
      JSON.stringify({ ...ofRds, engine: 'aurora-postgresql', port: undefined }),
      `${at('db.example.com')}/postgres`,
      undefined,
    ],
  ])('%s', (_, text, url, directUrl) => {
    expect(readDatabaseSecret(text)).toEqual({ url, directUrl: directUrl ?? url })
  })

  test('with every character that a password may have', () => {
    const password = "p@:/?#[]%20 é'&=+\\"
    const { url } = readDatabaseSecret(JSON.stringify({ ...ofRds, password }))
    expect(decodeURIComponent(new URL(url).password)).toBe(password)
  })

  test('of a host of RDS with TLS, which it demands', () => {
    const host = 'app.abc.eu-central-1.rds.amazonaws.com'
    expect(readDatabaseSecret(JSON.stringify({ ...ofRds, host })).url).toMatch(/\?sslmode=verify-full$/)
    expect(
      readDatabaseSecret(JSON.stringify({ ...ofRds, host: 'rds.amazonaws.com.example' })).url,
    ).not.toMatch(/ssl/)
  })

  test('with the TLS mode that the driver has, named so that it does not warn', () => {
    const { url } = readDatabaseSecret(`${pooled}?sslmode=require&channel_binding=require`)
    expect(url).toBe(`${pooled}?sslmode=verify-full&channel_binding=require`)
    expect(readDatabaseSecret(`${pooled}?sslmode=disable`).url).toBe(`${pooled}?sslmode=disable`)
  })
})

describe('a secret that is none of these is refused without repeating it', () => {
  test.each([
    ['empty', ''],
    ['a password alone', 'hunter2'],
    ['half of a JSON', '{"url": "postgres://app:hunter2@h/d"'],
    ['a JSON of something else', '{"apiKey": "hunter2"}'],
    ['our JSON with another protocol', '{"url": "mysql://app:hunter2@h/d"}'],
    ['our JSON with a broken direct URL', '{"url": "postgres://app:hunter2@h/d", "directUrl": "hunter2"}'],
    ['the JSON of RDS for MySQL', '{"engine":"mysql","host":"h","username":"u","password":"hunter2"}'],
    ['the JSON of RDS with a port that is none', JSON.stringify({ ...ofRds, port: 'hunter2' })],
    ['the JSON of RDS with a port in its host', JSON.stringify({ ...ofRds, host: 'h:5511' })],
    ['the JSON of RDS without a host', '{"username":"u","password":"hunter2"}'],
  ])('%s', (_, text) => {
    const refused = () => readDatabaseSecret(text)
    expect(refused).toThrow(
      expect.objectContaining({ code: 'SETTING_INVALID', field: 'TASKQ_DATABASE_SECRET_ARN' }),
    )
    expect(refused).not.toThrow(/hunter2/)
  })
})

test('the member of our JSON that is wrong is named', () => {
  const both = { url: pooled, directUrl: 'mysql://app:hunter2@h/d' }
  expect(() => readDatabaseSecret(JSON.stringify(both))).toThrow(/the member directUrl of the secret/)
})

describe('the settings say where the database is', () => {
  const read = (environment: Record<string, string>) => databaseUrls(readSettings(environment))

  test('by a URL, and by another one past the pooler', async () => {
    expect(await read({ TASKQ_DATABASE_URL: pooled })).toEqual({ url: pooled, directUrl: pooled })
    const both = { TASKQ_DATABASE_URL: pooled, TASKQ_DATABASE_DIRECT_URL: direct }
    expect(await read(both)).toEqual({ url: pooled, directUrl: direct })
  })

  test('or else that is an error which names both settings', async () => {
    await expect(read({})).rejects.toMatchObject({
      code: 'SETTING_INVALID',
      field: 'TASKQ_DATABASE_URL',
      message: expect.stringContaining('TASKQ_DATABASE_SECRET_ARN'),
    })
  })
})

function at(host: string): string {
  return `postgres://app:secret@${host.includes(':') ? host : `${host}:5432`}`
}
