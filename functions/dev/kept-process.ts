import { spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectPg } from '../../shared/db/pg.ts'
import { codeOf } from '../../shared/sql/failures.ts'
import { isReachable, type User } from './postgres-binaries.ts'

/** A server of our own that runs as long as this process does, at most. */
export interface KeptProcess {
  /** Returns once a database answers at this URL; throws what the server logged where it ended instead. */
  answersAt(url: string): Promise<void>
  /** Ends it, and deletes its folder. */
  stop(): Promise<void>
}

export interface KeptOptions {
  readonly program: string
  readonly args: readonly string[]
  /** What its files are in; deleted with it. */
  readonly folder: string
  readonly user: User | undefined
  /** What ends it at once, whoever is connected. */
  readonly endsOn: 'INT' | 'TERM'
}

/**
 * The server runs apart from this process' signals, so that Ctrl-C reaches us alone and we decide in which
 * order things end; and it ends with this process however that ends, since then the pipe that it is held
 * by closes. Its data goes with it. One that ends by itself leaves its log to be read.
 */
const keeper = [
  'rest=$1; signal=$2; shift 2; exec 3<&0',
  '"$0" "$@" </dev/null 3<&- & child=$!',
  '{ read -r _; : >"$rest/told-to-end"; kill "-$signal" "$child"; } <&3 2>/dev/null &',
  'wait "$child"; [ ! -e "$rest/told-to-end" ] || rm -rf "$rest" 2>/dev/null',
].join('\n')

/** Starts a server that ends with this process. */
export function startKept({ program, args, folder, user, endsOn }: KeptOptions): KeptProcess {
  const log = openSync(join(folder, 'server.log'), 'a')
  const child = spawn('/bin/sh', ['-c', keeper, program, folder, endsOn, ...args], {
    ...user,
    cwd: '/',
    detached: true,
    stdio: ['pipe', log, log],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  child.stdin?.on('error', () => undefined)
  const stop = async () => {
    child.ref()
    child.stdin?.end()
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const answersAt = async (url: string) => {
    try {
      await untilAnswered(url, () => child.exitCode === null)
      child.unref()
    } catch (cause) {
      const said = logIn(folder)
      await stop()
      throw new Error(`${program} did not start:\n${said}`, { cause })
    }
  }
  return { answersAt, stop }
}

/** Whether a server answered with a refusal, an SQLSTATE, and not that it is still starting. */
const isRefusal = (error: unknown) => /^(?!57P03)\d/.test(codeOf(error) ?? '')

/** Returns once a database answers at this URL; throws why not as soon as it is not worth another try. */
export async function untilAnswered(url: string, isWorthAnotherTry: () => boolean): Promise<void> {
  const asker = { url, schema: 'public', applicationName: 'taskq start' }
  for (;;) {
    try {
      const connection = await connectPg({ ...asker, connectTimeoutMs: 5000, queryTimeoutMs: 5000 })
      return await connection.close()
    } catch (error) {
      if (isRefusal(error) || !isWorthAnotherTry()) throw error
      await sleep(20)
    }
  }
}

/** A new folder for a server's files: below `parent`, or in the system's where its user cannot reach that. */
export function serverFolder(name: string, user: User | undefined, parent = tmpdir()): string {
  mkdirSync(parent, { recursive: true })
  const usable = user === undefined || isReachable(parent, user) ? parent : tmpdir()
  const folder = mkdtempSync(join(usable, `taskq-${name}-`))
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  return folder
}

function logIn(folder: string): string {
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
