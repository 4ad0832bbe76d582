/** No more jobs than this wait in a worker for a free handler. */
export const lookaheadMax = 200

/** Two claims' time of work: one under way, and one to spare. */
const claimsAhead = 2

/** How slowly the measures follow what gets better. */
const memory = 0.9

/**
 * How many jobs a worker claims beyond its free handlers. Jobs that end faster than a claim takes would wait
 * for claims alone: so as many are held ready as end in two claims' time. Of jobs that take longer none is
 * held, since another worker could start it at once. A slow job is believed at once, fast ones only slowly.
 *
 * @example
 * const lookahead = new Lookahead()
 * lookahead.claimTook(2)
 * lookahead.jobTook(4)
 * lookahead.size(10) // 10: ten handlers end ten jobs in two claims of 2 ms
 */
export class Lookahead {
  #claimMs = 0
  #jobMs: number | undefined

  claimTook(ms: number): void {
    this.#claimMs = this.#claimMs === 0 ? ms : this.#claimMs * memory + ms * (1 - memory)
  }

  jobTook(ms: number): void {
    const before = this.#jobMs ?? ms
    this.#jobMs = ms > before ? ms : before * memory + ms * (1 - memory)
  }

  size(concurrency: number): number {
    if (this.#jobMs === undefined) return 0
    const ending = (concurrency * claimsAhead * this.#claimMs) / Math.max(this.#jobMs, 0.001)
    return Math.min(lookaheadMax, Math.floor(ending))
  }
}
