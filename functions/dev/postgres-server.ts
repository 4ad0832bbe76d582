import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectPg } from '../../shared/db/pg.ts'
import { type Binaries, findBinaries, type User, withinReach } from './postgres-binaries.ts'

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
 * The server runs apart from this process' signals, so that Ctrl-C reaches us alone and we decide in which
 * order things end; and it ends with this process however that ends, since then the pipe that it is held
 * by closes. Its data goes with it. One that ends by itself leaves its log to be read.
 */
const keeper = [
  'rest=$1; shift; exec 3<&0',
  '"$0" "$@" </dev/null 3<&- & child=$!',
  '{ read -r _; kill -INT "$child"; } <&3 2>/dev/null &',
  'wait "$child" && rm -rf "$rest" 2>/dev/null',
].join('\n')

/**
 * Starts a private Postgres on a free port of 127.0.0.1, with a new data folder and a random password.
 *
 * @example
 * const server = await startPostgres({ settings: { fsync: 'off' } })
 * try { … } finally { await server.stop() }
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const found = findBinaries(options.binaries)
  const folder = dataFolder(options.parent ?? tmpdir(), found.user)
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
  const log = openSync(join(folder, 'server.log'), 'a')
  const child = spawn(
    '/bin/sh',
    ['-c', keeper, join(binaries.bin, 'postgres'), folder, '-D', join(folder, 'data'), ...flags],
    {
      ...binaries.user,
      cwd: '/',
      detached: true,
      stdio: ['pipe', log, log],
    },
  )
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  child.stdin?.on('error', () => undefined)
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  try {
    await untilReady(url, () => child.exitCode !== null, folder)
  } catch (error) {
    child.stdin?.destroy()
    await ended
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  child.unref()
  const stop = async () => {
    child.ref()
    child.stdin?.end()
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  return { url, port, stop }
}

function dataFolder(parent: string, user: User | undefined): string {
  mkdirSync(parent, { recursive: true })
  const usable = user === undefined || isReachable(parent, user) ? parent : tmpdir()
  const folder = mkdtempSync(join(usable, 'taskq-postgres-'))
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  return folder
}

function isReachable(folder: string, user: User): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'cd "$0"', folder], { ...user, stdio: 'ignore', cwd: '/' })
    return true
  } catch {
    return false
  }
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

async function untilReady(url: string, hasEnded: () => boolean, folder: string): Promise<void> {
  const options = {
    url,
    schema: 'public',
    applicationName: 'taskq start',
    connectTimeoutMs: 5000,
    queryTimeoutMs: 5000,
  }
  for (;;) {
    try {
      const connection = await connectPg(options)
      await connection.close()
      return
    } catch (error) {
      if (hasEnded()) throw new Error(`Postgres did not start:\n${serverLog(folder)}`, { cause: error })
      await sleep(20)
    }
  }
}

function serverLog(folder: string): string {
  const file = join(folder, 'server.log')
  return existsSync(file) ? readFileSync(file, 'utf8').slice(-2000) : ''
}

/** A port that nobody listens on; the server that takes it fails loudly should another be faster. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
