import type { Settings } from '../core/read-settings.ts'
import { reclaim, reclaimArgs, wholeWindow } from '../sweeps/expired_locks.ts'
import { promoteQueues } from '../sweeps/promotion.ts'
import { type ClaimAnswer, claim, readClaim } from './claim.ts'
import type { WorkerIdentity } from './heartbeat.ts'
import type { Link } from './link.ts'
import { untilNextDue } from './next-due.ts'
import type { WorkerPorts } from './ports.ts'
import { markQueues } from './presence.ts'

/** When a process last did what it may do only so often; a Lambda keeps it from invocation to invocation. */
export interface Pace {
  repairedMs: number
  reclaimedMs: number
  markedMs: number
}

export const newPace = (): Pace => ({
  repairedMs: Number.NEGATIVE_INFINITY,
  reclaimedMs: Number.NEGATIVE_INFINITY,
  markedMs: Number.NEGATIVE_INFINITY,
})

const reclaimEveryMs = 5000
const reclaimRows = 5
const markEveryMs = 30_000

/**
 * Claims for a worker. A claim that found nothing repairs: it promotes the due jobs of its own queues and
 * takes a few expired ones back, so that neither waits for its sweep, and claims again where that freed any.
 */
export class Claimer {
  readonly #ports: WorkerPorts
  readonly #link: Link
  readonly #worker: WorkerIdentity
  readonly #actors: readonly string[]
  readonly #settings: Settings
  readonly #pace: Pace
  #rotation = 0
  #repairErrors = 0

  constructor(
    ports: WorkerPorts,
    link: Link,
    worker: WorkerIdentity,
    actors: readonly string[],
    settings: Settings,
    pace: Pace,
  ) {
    this.#ports = ports
    this.#link = link
    this.#worker = worker
    this.#actors = actors
    this.#settings = settings
    this.#pace = pace
  }

  get repairErrors(): number {
    return this.#repairErrors
  }

  /** Claims up to so many jobs. */
  async claim(batch: number): Promise<ClaimAnswer> {
    await this.#mark()
    const answer = await this.#claimOnce(batch)
    if (answer.jobs.length > 0) return answer
    return (await this.#repair()) ? this.#claimOnce(batch) : answer
  }

  /** Milliseconds until a job of our queues falls due; null where none waits. */
  async untilNextDue(): Promise<number | null> {
    const [row] = await this.#link.run(untilNextDue, { queues: this.#worker.queues })
    return row?.ms ?? null
  }

  /** Milliseconds until a claim may repair again. */
  untilNextRepair(): number {
    return Math.max(0, this.#pace.repairedMs + this.#settings.pollInterval - this.#ports.nowMs())
  }

  async #claimOnce(batch: number): Promise<ClaimAnswer> {
    this.#rotation = (this.#rotation + 1) % 1_000_000
    const { workerId, queues } = this.#worker
    const leaseMs = this.#settings.lockLease
    const args = { queues, actors: this.#actors, batch, rotation: this.#rotation, workerId, leaseMs }
    return readClaim(await this.#link.run(claim, args))
  }

  /** Whether the repair freed anything. What fails in it is counted, and fails no claim. */
  async #repair(): Promise<boolean> {
    if (this.untilNextRepair() > 0) return false
    this.#pace.repairedMs = this.#ports.nowMs()
    const promoted = await this.#attempt('repair', async () => {
      const limit = this.#settings.eventWriterBatchSize
      const [row] = await this.#link.run(promoteQueues, { queues: this.#worker.queues, limit })
      return row?.acted ?? 0
    })
    if (this.#ports.nowMs() - this.#pace.reclaimedMs < reclaimEveryMs) return promoted > 0
    this.#pace.reclaimedMs = this.#ports.nowMs()
    const reclaimed = await this.#attempt('repair', async () => {
      const args = { ...reclaimArgs(this.#settings), ...wholeWindow, limit: reclaimRows }
      const [row] = await this.#link.run(reclaim, args)
      return row?.acted ?? 0
    })
    return promoted + reclaimed > 0
  }

  async #mark(): Promise<void> {
    if (this.#ports.nowMs() - this.#pace.markedMs < markEveryMs) return
    this.#pace.markedMs = this.#ports.nowMs()
    await this.#attempt('presence', async () => {
      await this.#link.run(markQueues, { queues: this.#worker.queues })
      return 0
    })
  }

  async #attempt(during: 'repair' | 'presence', work: () => Promise<number>): Promise<number> {
    try {
      return await work()
    } catch (error) {
      if (during === 'repair') this.#repairErrors++
      this.#ports.report({ during, error })
      return 0
    }
  }
}
