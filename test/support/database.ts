import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'
import { connectBy, driverOf } from '../../functions/runtime/driver.ts'
import { readSettings, type Settings, writeSettings } from '../../shared/core/read-settings.ts'
import type { ScriptConnection } from '../../shared/db/driver-connection.ts'
import { administer, databaseUrl } from './global-postgres.ts'

/** A migrated database of a test file's own, reached as the mode of its project says. */
export interface TestDatabase {
  /** The URL for what is under test. */
  readonly url: string
  /** That URL and its driver, for a client, a worker or a function under test. */
  readonly settings: Pick<Settings, 'databaseUrl' | 'databaseDriver'>
  /** The URL for who looks on, and for migrations: past whatever the mode puts in between. */
  readonly directUrl: string
  /** The server's major version. */
  readonly version: number
  /** Rows of any SQL, on a direct connection apart from those under test. */
  rows<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>
  /** A connection of ours, the mode's way; closed at the file's end. */
  connect(options?: {
    schema?: string
    queryTimeoutMs?: number
    applicationName?: string
  }): Promise<ScriptConnection>
  /** A plain client, direct, as another application has it; closed at the file's end. */
  client(): Promise<pg.Client>
  close(): Promise<void>
}

/** Copies the migrated template. */
export async function openDatabase(): Promise<TestDatabase> {
  const way = inject('way')
  const name = `test_${randomBytes(6).toString('hex')}`
  await administer(way.directUrl, `create database ${name} template ${way.template}`)
  const url = databaseUrl(way.url, name)
  const directUrl = databaseUrl(way.directUrl, name)
  const settings = { databaseUrl: url, databaseDriver: way.driver }
  const closers: (() => Promise<unknown>)[] = []
  const client = async () => {
    const opened = new pg.Client({ connectionString: directUrl })
    opened.on('error', () => undefined)
    await opened.connect()
    closers.push(() => opened.end().catch(() => undefined))
    return opened
  }
  const observer = await client()
  // As one that was migrated a moment ago, however long the tests have been running.
  await observer.query(`update taskq.installation set created_at = clock_timestamp()`)
  await observer.query(`update taskq.sweep_state set installed_at = clock_timestamp()`)
  return {
    url,
    settings,
    directUrl,
    version: way.version,
    client,
    rows: async (text, values) => (await observer.query(text, values)).rows,
    connect: async ({ schema = 'taskq', queryTimeoutMs = 30_000, applicationName = 'under-test' } = {}) => {
      const connect = await connectBy(driverOf(readSettings(writeSettings(settings)), url))
      const options = { url, schema, applicationName, connectTimeoutMs: 10_000, queryTimeoutMs }
      const connection = await connect(options)
      closers.push(() => connection.close())
      return connection
    },
    close: async () => {
      for (const closer of closers) await closer()
      await administer(way.directUrl, `drop database if exists ${name} with (force)`)
    },
  }
}

/** A database for all tests of a file, opened before them and dropped after. */
export function useDatabase(): () => TestDatabase {
  let database: TestDatabase | undefined
  beforeAll(async () => {
    database = await openDatabase()
  })
  afterAll(async () => {
    await database?.close()
  })
  return () => {
    if (database === undefined) throw new Error('the database is opened before the first test')
    return database
  }
}

/** How many sessions of a database wait for a lock at this moment. */
export async function sessionsWaiting(database: TestDatabase): Promise<number> {
  const sessions = await database.rows(
    `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  )
  return sessions.length
}
