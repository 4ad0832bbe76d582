import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, serverFolder, startKept } from '../../functions/dev/kept-process.ts'
import { serverUser } from '../../functions/dev/postgres-binaries.ts'

export interface Pooler {
  /** The same database, by way of the pooler. */
  readonly url: string
  stop(): Promise<void>
}

/** Where Debian's package puts it. */
export const pgbouncerProgram = '/usr/sbin/pgbouncer'

/**
 * A pooler in transaction mode before a server. Two sessions of the server for each of its databases: two is
 * the least at which a client's next transaction can land in another session than its last, and so few that
 * clients meet what others left behind there.
 */
const sessionsPerDatabase = 2

/** Starts PgBouncer before the server of this URL, whose user must be a superuser. */
export async function startPgbouncer(url: string): Promise<Pooler> {
  const user = serverUser()
  const folder = serverFolder('pgbouncer', user)
  const { hostname, port, username, password } = new URL(url)
  const pooled = new URL(url)
  pooled.port = String(await freePort())
  const write = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text, { mode: 0o600 })
    if (user !== undefined) chownSync(path, user.uid, user.gid)
    return path
  }
  const users = write('users.txt', `"${username}" "${password}"\n`)
  const settings = {
    listen_addr: hostname,
    listen_port: pooled.port,
    unix_socket_dir: '',
    pool_mode: 'transaction',
    default_pool_size: sessionsPerDatabase,
    max_client_conn: 1000,
    auth_type: 'scram-sha-256',
    auth_file: users,
    // Whoever is not in the file logs in with what the server itself knows of them.
    auth_user: username,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const databases = `[databases]\n* = host=${hostname} port=${port}\n`
  const configuration = write('pgbouncer.ini', `${databases}[pgbouncer]\n${lines.join('\n')}\n`)
  const kept = startKept({ program: pgbouncerProgram, args: [configuration], folder, user, endsOn: 'TERM' })
  await kept.answersAt(pooled.href)
  return { url: pooled.href, stop: kept.stop }
}
