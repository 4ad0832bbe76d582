import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'
import type { ScriptConnection } from '../../shared/db/driver-connection.ts'
import { connectPg } from '../../shared/db/pg.ts'
import { databaseUrl, type TestServer, templateName } from './global-postgres.ts'

/** A migrated database of a test file's own. */
export interface TestDatabase {
  readonly url: string
  readonly version: number
  /** Rows of any SQL, on a connection apart from those under test. */
  rows<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>
  /** A connection of ours; closed at the file's end. */
  connect(options?: { schema?: string; queryTimeoutMs?: number }): Promise<ScriptConnection>
  /** A plain client, as a user's code has it; closed at the file's end. */
  client(): Promise<pg.Client>
  close(): Promise<void>
}

/** The newest server, on which everything runs. */
export function newestServer(): TestServer {
  const [first] = inject('servers')
  if (first === undefined) throw new Error('no server was started')
  return first
}

/** Copies the migrated template, on the newest server unless another is named. */
export async function openDatabase(server: TestServer = newestServer()): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await administer(server.url, `create database ${name} template ${templateName}`)
  const url = databaseUrl(server.url, name)
  const closers: (() => Promise<unknown>)[] = []
  const client = async () => {
    const opened = new pg.Client({ connectionString: url })
    opened.on('error', () => undefined)
    await opened.connect()
    closers.push(() => opened.end().catch(() => undefined))
    return opened
  }
  const observer = await client()
  return {
    url,
    version: server.version,
    client,
    rows: async (text, values) => (await observer.query(text, values)).rows,
    connect: async ({ schema = 'taskq', queryTimeoutMs = 30_000 } = {}) => {
      const connectTimeoutMs = 10_000
      const connection = await connectPg({
        url,
        schema,
        applicationName: 'under-test',
        connectTimeoutMs,
        queryTimeoutMs,
      })
      closers.push(() => connection.close())
      return connection
    },
    close: async () => {
      for (const closer of closers) await closer()
      await administer(server.url, `drop database if exists ${name} with (force)`)
    },
  }
}

/** A database for all tests of a file, opened before them and dropped after. */
export function useDatabase(server?: () => TestServer): () => TestDatabase {
  let database: TestDatabase | undefined
  beforeAll(async () => {
    database = await openDatabase(server?.())
  })
  afterAll(async () => {
    await database?.close()
  })
  return () => {
    if (database === undefined) throw new Error('the database is opened before the first test')
    return database
  }
}

async function administer(url: string, text: string): Promise<void> {
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  try {
    await admin.query(text)
  } finally {
    await admin.end()
  }
}
