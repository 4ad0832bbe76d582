import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('../../', import.meta.url))
const entry = fileURLToPath(new URL('../../functions/cli/taskq.mjs', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** What `--json` printed. */
  readonly json: Record<string, unknown>
}

export interface Taskq {
  readonly child: ChildProcess
  /** What it has printed so far. */
  readonly printed: { stdout: string; stderr: string }
  readonly ended: Promise<Ended>
}

/** Starts the real command as a process of its own, with an environment of its own. */
export function startTaskq(
  args: readonly string[],
  options: { env?: Record<string, string>; stdin?: string; cwd?: string; detached?: boolean } = {},
): Taskq {
  const { env = {}, stdin, cwd = project, detached = false } = options
  const child = spawn(process.execPath, [entry, ...args], {
    cwd,
    detached,
    // Nothing of the environment that the tests run in.
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...env },
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  child.stdin?.end(stdin)
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
      printed[name] += chunk
    })
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      const json = (printed.stdout.startsWith('{') ? JSON.parse(printed.stdout) : {}) as Ended['json']
      resolve({ code, signal, ...printed, json })
    })
  })
  return { child, printed, ended }
}

/** Runs the command to its end. */
export function taskq(
  args: readonly string[],
  options: Parameters<typeof startTaskq>[1] = {},
): Promise<Ended> {
  return startTaskq(args, options).ended
}
