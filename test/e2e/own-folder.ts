import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'

/**
 * An empty folder in which a command runs, and which it is told to take for the system's temporary one: so
 * whatever it leaves behind is found in there.
 */
export function useFolder() {
  let path = ''
  beforeAll(() => {
    path = mkdtempSync(join(tmpdir(), 'taskq-e2e-'))
    // Run by root, the server belongs to another user, who must be able to reach its data.
    chmodSync(path, 0o755)
  })
  afterAll(() => rmSync(path, { recursive: true, force: true }))
  return () => ({ path, env: { TMPDIR: path }, contents: () => readdirSync(path) })
}
