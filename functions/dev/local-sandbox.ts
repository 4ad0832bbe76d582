import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import type { LocalFunction } from './local-functions.ts'
import type { Failure, FromSandbox, ToSandbox } from './sandbox-messages.ts'

/** A function that failed, as its caller would read it from Lambda. */
export class LocalInvocationError extends Error {
  override readonly name = 'LocalInvocationError'
  readonly failure: Failure

  constructor(functionName: string, failure: Failure) {
    super(`${functionName}: ${failure.errorType}: ${failure.errorMessage}`)
    this.failure = failure
    if (failure.stack !== undefined) this.stack = failure.stack
  }
}

/** Every line that a function writes to its log. */
export type OnLine = (functionName: string, line: string) => void

/**
 * One execution environment: a worker thread that loaded a bundle and handles one event at a time. It stays
 * warm between events, and is ended by force when an invocation outlives the function's timeout.
 */
export class LocalSandbox {
  #worker: Worker
  #exited = false
  #pending: ((message: FromSandbox) => void) | undefined
  readonly #definition: LocalFunction

  constructor(definition: LocalFunction, environment: Readonly<Record<string, string>>, onLine: OnLine) {
    this.#definition = definition
    const { folder, handler, name, arn, memoryMb } = definition
    this.#worker = new Worker(new URL('./lambda-sandbox.ts', import.meta.url), {
      env: { ...environment },
      workerData: { folder, handler, name, arn, memoryMb },
      stdout: true,
      stderr: true,
    })
    const { stdout, stderr } = this.#worker
    for (const stream of [stdout, stderr]) eachLine(stream, line => onLine(name, line))
    this.#worker.on('message', (message: FromSandbox) => this.#pending?.(message))
    this.#worker.on('error', error => this.#end({ errorType: error.name, errorMessage: error.message }))
    this.#worker.on('exit', code =>
      this.#end({ errorType: 'Runtime.ExitError', errorMessage: `exited with code ${code}` }),
    )
  }

  /** False once the thread ended: the next event needs another sandbox. */
  get usable(): boolean {
    return !this.#exited
  }

  get busy(): boolean {
    return this.#pending !== undefined
  }

  /** Handles one event and answers what the function returned. */
  async invoke(event: unknown): Promise<unknown> {
    const { name, timeoutMs } = this.#definition
    const requestId = randomUUID()
    const message: ToSandbox = {
      type: 'invoke',
      requestId,
      event: JSON.stringify(event),
      remainingMs: timeoutMs,
    }
    const answered = new Promise<FromSandbox>(resolve => {
      this.#pending = resolve
    })
    const timer = setTimeout(() => {
      const errorMessage = `Task timed out after ${(timeoutMs / 1000).toFixed(2)} seconds`
      this.#end({ errorType: 'Sandbox.Timedout', errorMessage })
      void this.#worker.terminate()
    }, timeoutMs)
    if (this.#exited) this.#end({ errorType: 'Runtime.ExitError', errorMessage: 'the sandbox has ended' })
    else this.#worker.postMessage(message)
    try {
      const answer = await answered
      if (answer.failure !== undefined) throw new LocalInvocationError(name, answer.failure)
      return JSON.parse(answer.payload)
    } finally {
      clearTimeout(timer)
      this.#pending = undefined
    }
  }

  /** Tells a running invocation to end after its batch, waits a bounded while, and ends the thread. */
  async close(graceMs: number): Promise<void> {
    const deadline = performance.now() + graceMs
    if (this.busy && !this.#exited) this.#worker.postMessage({ type: 'shutdown' } satisfies ToSandbox)
    while (this.busy && !this.#exited && performance.now() < deadline) {
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    await this.#worker.terminate()
  }

  #end(failure: Failure): void {
    this.#exited = true
    this.#pending?.({ requestId: '', failure })
  }
}

function eachLine(stream: Readable, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') onLine(line)
  })
}
