import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, serverFolder, startKept } from './kept-process.ts'
import { type Binaries, findBinaries, withinReach } from './postgres-binaries.ts'

export interface PostgresServer {
  /** The URL of its database `postgres`; other databases differ in the path alone. */
  readonly url: string
  readonly port: number
  /** Ends the server at once, and deletes its data. */
  stop(): Promise<void>
}

export interface PostgresOptions {
  /** Settings as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
  /** The folder of another server's programs, such as Debian's. */
  readonly binaries?: string
  /** Where the data folder is made; the system's temporary folder where Postgres' user cannot reach it. */
  readonly parent?: string
}

/**
 * Starts a private Postgres on a free port of 127.0.0.1, with a new data folder and a random password.
 *
 * @example
 * const server = await startPostgres({ settings: { fsync: 'off' } })
 * try { … } finally { await server.stop() }
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const found = findBinaries(options.binaries)
  const folder = serverFolder('postgres', found.user, options.parent)
  const binaries = withinReach(found, folder)
  const password = randomBytes(12).toString('hex')
  initialize(binaries, folder, password)
  const port = await freePort()
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    ...options.settings,
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const kept = startKept({
    program: join(binaries.bin, 'postgres'),
    args: ['-D', join(folder, 'data'), ...flags],
    folder,
    user: binaries.user,
    endsOn: 'INT',
  })
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  await kept.answersAt(url)
  return { url, port, stop: kept.stop }
}

function initialize(binaries: Binaries, folder: string, password: string): void {
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (binaries.user !== undefined) chownSync(passwordFile, binaries.user.uid, binaries.user.gid)
  const flags = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
  const data = join(folder, 'data')
  execFileSync(
    join(binaries.bin, 'initdb'),
    ['-D', data, ...flags, '--encoding=UTF8', '--locale=C', '--no-sync'],
    {
      ...binaries.user,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
}
