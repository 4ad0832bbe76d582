import type { ClaimAnswer } from './claim.ts'

/** What tells how long there is nothing to do. */
export interface Due {
  untilNextDue(): Promise<number | null>
  untilNextRepair(): number
}

const idleMsMost = 5000
const contendedMsLeast = 20

/**
 * How long a worker waits after a claim without jobs. Idle, it asks every poll interval, then less and less
 * often up to every 5 s; but before it sleeps it asks the database when the next job is due, and wakes for
 * that. Where peers hold what waits it tries again soon. After failures it waits as when idle.
 */
export class Waiting {
  readonly #pollMs: number
  readonly #due: Due
  #idleRounds = 0
  #contendedRounds = 0

  constructor(pollMs: number, due: Due) {
    this.#pollMs = pollMs
    this.#due = due
  }

  /** No wait is longer. */
  get longestMs(): number {
    return Math.max(this.#pollMs, idleMsMost)
  }

  /** There was work: begin anew. */
  reset(): void {
    this.#idleRounds = 0
    this.#contendedRounds = 0
  }

  async nextMs(found: ClaimAnswer['found'] | undefined, failures: number): Promise<number> {
    if (failures > 0) return this.#grown(this.#pollMs, failures - 1)
    if (found === 'contended') {
      return Math.min(this.#pollMs, this.#grown(contendedMsLeast, this.#contendedRounds++))
    }
    const idleMs = this.#grown(this.#pollMs, this.#idleRounds++)
    const dueMs = await this.#due.untilNextDue()
    if (dueMs === null || dueMs >= idleMs) return idleMs
    // It is due before the next look; only a repair makes it ready, and that has its own pace.
    return Math.max(Math.ceil(dueMs), this.#due.untilNextRepair())
  }

  #grown(ms: number, rounds: number): number {
    return Math.min(this.longestMs, ms * 2 ** Math.min(rounds, 20))
  }
}
