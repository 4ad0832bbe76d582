import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FromWorker, ToWorker, WorkerMode } from './worker-messages.ts'

export interface WorkerChildOptions {
  readonly mode: WorkerMode
  /** The whole environment of the process. */
  readonly environment: Readonly<Record<string, string>>
  readonly onHandled?: (id: string, attempt: number) => void
  readonly onTrouble: (text: string) => void
}

/** A worker's process, as its parent holds it. */
export class WorkerChild {
  readonly #child: ChildProcess
  readonly #exited: Promise<number | null>
  #stderr = ''

  private constructor(options: WorkerChildOptions) {
    const script = fileURLToPath(new URL('./worker-process.ts', import.meta.url))
    this.#child = fork(script, [options.mode], {
      env: { ...options.environment },
      // Its own process group: Ctrl-C reaches the parent alone, which ends things in their order.
      detached: true,
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.#stderr = (this.#stderr + chunk).slice(-4000)
    })
    this.#exited = new Promise(resolve => this.#child.once('exit', code => resolve(code)))
    this.#child.on('error', error => options.onTrouble(`worker: ${error.message}`))
    this.#child.on('message', (message: FromWorker) => {
      if (message.type === 'handled') options.onHandled?.(message.id, message.attempt)
      if (message.type === 'trouble') options.onTrouble(`worker: ${message.during}: ${message.message}`)
    })
  }

  /** Starts the process, and waits until its worker claims. */
  static async start(options: WorkerChildOptions): Promise<WorkerChild> {
    const worker = new WorkerChild(options)
    const ready = new Promise<void>(resolve => {
      worker.#child.on('message', (message: FromWorker) => {
        if (message.type === 'ready') resolve()
      })
    })
    const early = worker.#exited.then(code => {
      throw new Error(`the worker ended with code ${code} before it was ready:\n${worker.#stderr}`)
    })
    await Promise.race([ready, early])
    early.catch(() => undefined)
    return worker
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Resolves with the exit code when the process has ended, however that came; null after a signal. */
  get exited(): Promise<number | null> {
    return this.#exited
  }

  /** The last of what it wrote to stderr. */
  get stderr(): string {
    return this.#stderr
  }

  /** The soft stop; what has not ended by then is killed. Answers with the exit code. */
  async stop(patienceMs: number): Promise<number | null> {
    if (this.#child.connected) this.#child.send('stop' satisfies ToWorker)
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), patienceMs)
    const code = await this.#exited
    clearTimeout(timer)
    return code
  }

  /** The end that nobody can catch. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exited
  }
}
