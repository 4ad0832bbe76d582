import { TaskQError } from '../core/errors.ts'

/** Calls that are under way: the close of what they belong to waits for them, and lets no other begin. */
export class OpenCalls {
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #whose: string
  #hasEnded = false

  /** @param whose - What the refusal of a late call says is closed. */
  constructor(whose: string) {
    this.#whose = whose
  }

  /** The same function, whose calls count from their first moment to their answer. */
  counted<Args extends unknown[], T>(call: (...args: Args) => Promise<T>): (...args: Args) => Promise<T> {
    return async (...args) => {
      if (this.#hasEnded) throw new TaskQError('USAGE', `${this.#whose} is closed`)
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
