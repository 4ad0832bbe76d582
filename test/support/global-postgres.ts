import { randomBytes } from 'node:crypto'
import type { TestProject } from 'vitest/node'
import { migrate } from '../../shared/db/migrate.ts'
import { connectPg } from '../../shared/db/pg.ts'
import { routines } from '../../shared/sweeps/index.ts'
import { isMissing, modeOf, type Way } from './modes.ts'

/** What the tests of a project know of their mode. */
export interface TestServer extends Omit<Way, 'stop'> {
  /** The server's major version. */
  readonly version: number
  /** Whether its mode runs the laws of plans. */
  readonly plans: boolean
  /** The migrated database that every test's own is a copy of. */
  readonly template: string
}

declare module 'vitest' {
  export interface ProvidedContext {
    way: TestServer
  }
}

/** Starts what the project's mode needs, for as long as its tests run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const mode = modeOf(project.name)
  if (isMissing(mode)) throw new Error(`missing here: apt-get install ${mode.needs?.package}`)
  const { stop, ...way } = await mode.start()
  // A server that was given has others' databases too, and several projects use it at once.
  const template = `taskq_template_${randomBytes(6).toString('hex')}`
  const drop = () => administer(way.directUrl, `drop database if exists ${template}`)
  try {
    const version = await prepare(way.directUrl, template)
    project.provide('way', { ...way, version, template, plans: mode.plans })
  } catch (error) {
    await drop().finally(stop)
    throw error
  }
  return async () => void (await drop().finally(stop))
}

/** Migrates the template; answers with the server's major version. */
async function prepare(url: string, template: string): Promise<number> {
  await administer(url, `create database ${template}`)
  const [row] = await administer(url, `select current_setting('server_version_num')::int / 10000 as version`)
  const connection = await connect(databaseUrl(url, template))
  const purposes = routines.map(sweep => sweep.purpose)
  const pins = { installationId: undefined, environment: undefined, deploymentId: undefined }
  const openSecond = () => connect(databaseUrl(url, template))
  await migrate(connection, { installation: { ...pins, purposes }, openSecond }).finally(() =>
    connection.close(),
  )
  return (row as { version: number }).version
}

/** Runs a text on a connection of its own. */
export async function administer(url: string, text: string): Promise<unknown[]> {
  const connection = await connect(url)
  return connection.script(text).finally(() => connection.close())
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
