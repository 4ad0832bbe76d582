import { existsSync } from 'node:fs'
import type { TestProject } from 'vitest/node'
import { type PostgresServer, startPostgres } from '../../functions/dev/postgres-server.ts'
import { migrate } from '../../shared/db/migrate.ts'
import { connectPg } from '../../shared/db/pg.ts'
import { sweeps } from '../../shared/sweeps/index.ts'

/** A server that the tests run on: its major version and a superuser's URL. */
export interface TestServer {
  readonly version: number
  readonly url: string
}

declare module 'vitest' {
  export interface ProvidedContext {
    servers: readonly TestServer[]
  }
}

/** Debian's 15: the oldest server that is supported, and one without `transaction_timeout`. */
const debianBinaries = '/usr/lib/postgresql/15/bin'

/** Nothing that a test stores outlives it, so nothing needs to reach the disk. */
const fast = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' }
/** A measurement is of a server that keeps what it says, and that no checkpoint interrupts. */
const durable = { shared_buffers: '1GB', max_wal_size: '8GB', checkpoint_timeout: '30min' }

export const templateName = 'taskq_template'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['TASKQ_TEST_DATABASE_URL']
  const started: PostgresServer[] = []
  const stop = () => Promise.all(started.map(server => server.stop())).then(() => undefined)
  try {
    const urls = given === undefined ? await startServers(started, project.name) : [given]
    project.provide('servers', await Promise.all(urls.map(prepare)))
  } catch (error) {
    await stop()
    throw error
  }
  return stop
}

async function startServers(started: PostgresServer[], suite: string): Promise<string[]> {
  const settings = suite === 'bench' ? durable : fast
  started.push(await startPostgres({ settings }))
  if (suite === 'bench') return started.map(server => server.url)
  if (existsSync(debianBinaries)) started.push(await startPostgres({ settings, binaries: debianBinaries }))
  else if (process.env['CI'] === 'true')
    throw new Error('Postgres 15 is missing: apt-get install postgresql-15')
  else process.stderr.write('Postgres 15 is not tested here: apt-get install postgresql-15\n')
  return started.map(server => server.url)
}

/** Migrates the template that every test file's database is a copy of. */
async function prepare(url: string): Promise<TestServer> {
  const admin = await connect(url)
  await admin.script(`drop database if exists ${templateName}`)
  await admin.script(`create database ${templateName}`)
  const [row] = await admin.script(`select current_setting('server_version_num')::int / 10000 as version`)
  await admin.close()
  const template = await connect(databaseUrl(url, templateName))
  const purposes = sweeps.map(sweep => sweep.purpose)
  const pins = { installationId: undefined, environment: undefined, deploymentId: undefined }
  await migrate(template, { installation: { ...pins, purposes } })
  await template.close()
  return { version: (row as { version: number }).version, url }
}

const connect = (url: string) =>
  connectPg({
    url,
    schema: 'taskq',
    applicationName: 'tests',
    connectTimeoutMs: 10_000,
    queryTimeoutMs: 60_000,
  })

/** The URL of another database of the same server. */
export function databaseUrl(url: string, database: string): string {
  const other = new URL(url)
  other.pathname = `/${database}`
  return other.href
}
