/**
 * How large the next window is, while a row that fails by itself is looked for. A window that failed is
 * known to hold one; it is halved until the row stands alone:
 *
 *     100 fails ▶ 50 passes ▶ 25 fails ▶ 12 passes ▶ 6 … ▶ 1 fails: that row ▶ 100
 *
 * Each half that passes is committed, so nothing waits for the search, which costs about as many failures as
 * the size has bits.
 */
export class Narrowing {
  readonly #whole: number
  /** Rows ahead among which one is known to fail; 0: none is. */
  #suspects = 0
  #size: number

  constructor(whole: number) {
    this.#whole = whole
    this.#size = whole
  }

  get size(): number {
    return this.#size
  }

  /** Whether a failing row is being looked for. */
  get isNarrowed(): boolean {
    return this.#suspects > 0
  }

  /** Whether the next window holds a single row that is suspected. */
  get isAlone(): boolean {
    return this.#suspects > 0 && this.#size === 1
  }

  /** The window failed: one of its rows did it. */
  failed(): void {
    this.#suspects = this.#size
    this.#size = Math.max(1, Math.floor(this.#size / 2))
  }

  /** A window passed and took so many rows; a short one says that the suspects are gone. */
  passed(taken: number): void {
    this.#suspects -= taken
    if (this.#suspects <= 0 || taken < this.#size) {
      this.found()
      return
    }
    // The rest holds it: to try the whole of the rest again would only fail.
    this.#size = Math.max(1, Math.min(this.#size, Math.floor(this.#suspects / 2)))
  }

  /** The row is found, or gone: the next window is a whole one. */
  found(): void {
    this.#suspects = 0
    this.#size = this.#whole
  }
}
