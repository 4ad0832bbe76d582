import type { BatchRow, Tally } from './define.ts'

const actorsMax = 20
const others = '_other_'

/** What the committed batches of an invocation add up to. */
export class Totals {
  batches = 0
  rows = 0
  longestBatchMs = 0
  batchesAborted = 0
  /** The keys of the rows that were set aside. */
  readonly quarantined: string[] = []
  /** Null stands for rows that are of no actor. */
  readonly #moved = new Map<string | null, Map<string, number>>()

  /** Counts one batch; called only after its commit. */
  add(batch: BatchRow, durationMs: number): void {
    this.batches += 1
    this.rows += batch.acted
    this.longestBatchMs = Math.max(this.longestBatchMs, durationMs)
    for (const { actor, disposition, rows } of batch.tally) {
      this.#count(actor, disposition, rows)
    }
  }

  #count(actor: Tally['actor'], disposition: string, rows: number): void {
    const ways = this.#moved.get(actor) ?? new Map<string, number>()
    this.#moved.set(actor, ways)
    ways.set(disposition, (ways.get(disposition) ?? 0) + rows)
  }

  get byDisposition(): Record<string, number> {
    return merge([...this.#moved.values()])
  }

  /** The actors with most rows; the rest together, so that a line of the log stays short. */
  get byActor(): Record<string, Record<string, number>> {
    const sum = (ways: Map<string, number>) => [...ways.values()].reduce((total, rows) => total + rows, 0)
    const ofActors = [...this.#moved].filter(
      (moved): moved is [string, Map<string, number>] => moved[0] !== null,
    )
    const ranked = ofActors.sort((a, b) => sum(b[1]) - sum(a[1]) || (a[0] < b[0] ? -1 : 1))
    const shown = ranked
      .slice(0, actorsMax)
      .map(([actor, ways]) => [actor, Object.fromEntries(ways)] as const)
    const rest = ranked.slice(actorsMax).map(([, ways]) => ways)
    return Object.fromEntries(rest.length === 0 ? shown : [...shown, [others, merge(rest)] as const])
  }
}

function merge(maps: readonly Map<Tally['disposition'], number>[]): Record<string, number> {
  const merged: Record<string, number> = {}
  for (const [way, rows] of maps.flatMap(map => [...map])) merged[way] = (merged[way] ?? 0) + rows
  return merged
}
