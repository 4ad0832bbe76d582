import type { Attempt, Attempts } from './attempts.ts'
import { heartbeat, type WorkerIdentity } from './heartbeat.ts'
import type { Link } from './link.ts'
import type { WorkerPorts } from './ports.ts'

export interface BeatSettings {
  readonly lockLease: number
  readonly heartbeatInterval: number
  readonly heartbeatCommandTimeout: number
  readonly maxHeartbeatFailures: number
}

/** A job with a heartbeat timeout is beaten for this often before it could pass. */
const beatsPerTimeout = 3
const intervalMsLeast = 50

/**
 * Keeps a worker and its jobs alive. One beat is one statement for all of them, within one budget whatever
 * it spends it on, on a connection of its own: it must not wait behind a slow claim. When more beats fail
 * in a row than may, the leases are as good as gone and every handler is told to stop.
 */
export class Beat {
  readonly #ports: WorkerPorts
  readonly #link: Link
  readonly #worker: WorkerIdentity
  readonly #attempts: Attempts
  readonly #settings: BeatSettings
  readonly #stopped = new AbortController()
  #shorter = new AbortController()
  #failures = 0
  #done: Promise<void> = Promise.resolve()

  constructor(
    ports: WorkerPorts,
    link: Link,
    worker: WorkerIdentity,
    attempts: Attempts,
    settings: BeatSettings,
  ) {
    this.#ports = ports
    this.#link = link
    this.#worker = worker
    this.#attempts = attempts
    this.#settings = settings
  }

  /** Beats that failed in a row. */
  get failures(): number {
    return this.#failures
  }

  start(): void {
    this.#done = this.#loop()
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#shorter.abort()
    await this.#done
  }

  /** Lets a new job with a short heartbeat timeout be beaten for in time. */
  heed(heartbeatTimeoutMs: number | null): void {
    if (heartbeatTimeoutMs !== null) this.#shorter.abort()
  }

  async #loop(): Promise<void> {
    let lastMs = this.#ports.nowMs()
    while (!this.#stopped.signal.aborted) {
      this.#shorter = new AbortController()
      const waitMs = lastMs + this.#intervalMs() - this.#ports.nowMs()
      await this.#ports.sleep(Math.max(0, waitMs), this.#shorter.signal)
      if (this.#stopped.signal.aborted) return
      if (this.#shorter.signal.aborted) continue
      lastMs = this.#ports.nowMs()
      await this.beat()
    }
  }

  #intervalMs(): number {
    const timeouts = this.#attempts.held().flatMap(({ job }) => job.heartbeatTimeoutMs ?? [])
    const shortest = Math.min(...timeouts) / beatsPerTimeout
    return Math.max(intervalMsLeast, Math.min(this.#settings.heartbeatInterval, shortest))
  }

  /** One beat; it never rejects. */
  async beat(): Promise<void> {
    const held = this.#attempts.held()
    try {
      const rows = await this.#withinBudget(() =>
        this.#link.run(heartbeat, {
          ...this.#worker,
          ids: held.map(({ job }) => job.id),
          epochs: held.map(({ job }) => job.epoch),
          leaseMs: this.#settings.lockLease,
        }),
      )
      this.#failures = 0
      this.#hear(held, rows)
    } catch (error) {
      this.#failures++
      this.#ports.report({ during: 'heartbeat', error })
      if (this.#failures > this.#settings.maxHeartbeatFailures) {
        for (const attempt of held) this.#attempts.stop(attempt, 'heartbeats_failed')
      }
    }
  }

  #hear(held: readonly Attempt[], rows: readonly HeartbeatRow[]): void {
    const alive = new Map(rows.map(row => [`${row.id}:${row.epoch}`, row]))
    for (const attempt of held) {
      // It may have been settled while the beat was under way.
      if (attempt.isDecided) continue
      const row = alive.get(`${attempt.job.id}:${attempt.job.epoch}`)
      if (row === undefined) this.#attempts.stop(attempt, 'lease_lost')
      else if (row.cancelRequested) this.#attempts.stop(attempt, 'cancelled', row.cancelReason ?? undefined)
    }
  }

  async #withinBudget<T>(work: () => Promise<T>): Promise<T> {
    const finished = new AbortController()
    const budgetMs = this.#settings.heartbeatCommandTimeout
    const spent = this.#ports.sleep(budgetMs, finished.signal).then(() => {
      if (!finished.signal.aborted) throw new Error(`no heartbeat came through in ${budgetMs} ms`)
    })
    spent.catch(() => undefined)
    const working = work()
    try {
      return (await Promise.race([working, spent])) as T
    } catch (error) {
      // What hangs is given up, connection and all; the next beat begins with a new one.
      working.catch(() => undefined)
      void this.#link.drop()
      throw error
    } finally {
      finished.abort()
    }
  }
}

type HeartbeatRow = NonNullable<(typeof heartbeat)['_row']>
