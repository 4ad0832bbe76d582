import { TaskQError } from '../core/errors.ts'

/** The calls of a client that are under way: its close waits for them, and lets no other begin. */
export class OpenCalls {
  readonly #underWay = new Set<Promise<unknown>>()
  #hasEnded = false

  /** The same function, whose calls count from their first moment to their answer. */
  counted<Args extends unknown[], T>(call: (...args: Args) => Promise<T>): (...args: Args) => Promise<T> {
    return async (...args) => {
      if (this.#hasEnded) throw new TaskQError('USAGE', 'the client is closed')
      const answer = call(...args)
      const ended = answer.catch(() => undefined)
      this.#underWay.add(ended)
      try {
        return await answer
      } finally {
        this.#underWay.delete(ended)
      }
    }
  }

  async end(): Promise<void> {
    this.#hasEnded = true
    await Promise.all(this.#underWay)
  }
}
