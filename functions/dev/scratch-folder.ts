import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** A folder of one run's own, below `.taskq/` in the working directory, which git ignores. */
export interface ScratchFolder {
  readonly path: string
  /** Deletes it, and `.taskq/` with it where nothing else is in there. */
  remove(): void
}

/**
 * Makes a folder that no other run shares, so that two copies can run at once. What an earlier run left
 * behind because it was killed is deleted on the way: its name says which process it belonged to.
 */
export function makeScratchFolder(purpose: string, parent = join(process.cwd(), '.taskq')): ScratchFolder {
  mkdirSync(parent, { recursive: true })
  for (const name of readdirSync(parent)) {
    const [, pid] = /^[a-z]+-(\d+)-[0-9a-f]+$/.exec(name) ?? []
    if (pid !== undefined && !isAlive(Number(pid)))
      rmSync(join(parent, name), { recursive: true, force: true })
  }
  const path = join(parent, `${purpose}-${process.pid}-${randomBytes(4).toString('hex')}`)
  mkdirSync(path)
  return {
    path,
    remove: () => {
      try {
        rmSync(path, { recursive: true, force: true })
        rmdirSync(parent)
      } catch {
        // Another run's folder is still in there; or, where this run is ended at once, a file of a child's
        // that is ending too: the next run deletes it.
      }
    },
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process of another user's is alive, too.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
