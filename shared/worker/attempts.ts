import type { RunnableActor } from '../client/handler.ts'
import type { ClaimedJob } from './claim.ts'
import { JobStopped, type ReleaseCause, type StopCause, stopMessages } from './job-stopped.ts'
import { type Outcome, perform } from './perform.ts'
import type { WorkerPorts } from './ports.ts'
import type { Settlement } from './settle.ts'
import type { SettledAs, Settler } from './settler.ts'

/** One claim of a job, from then until its end is decided. */
export interface Attempt {
  readonly job: ClaimedJob
  readonly claimedAtMs: number
  readonly controller: AbortController
  /** The first reason to stop it; later ones change nothing. */
  stopCause: StopCause | undefined
  /** Set once its end is decided: what its handler does after that is not heard. */
  isDecided: boolean
}

export interface AttemptLimits {
  readonly actors: ReadonlyMap<string, RunnableActor>
  readonly concurrency: number
  readonly resultBytesMax: number
  /** Is told how long each handler took, in milliseconds. */
  readonly jobTook: (ms: number) => void
}

type Claimed = Pick<ClaimedJob, 'id' | 'attempt' | 'epoch'>
type Ending = Omit<Settlement, 'id' | 'attempt' | 'epoch'>

/** A timer cannot wait longer than 2^31 ms. */
const longestWaitMs = 86_400_000

/** A job that waits longer for a free handler is given back to whoever has one. */
export const waitMsMax = 1000

/**
 * The attempts that this worker holds: as many handlers as may run at a time, and a few jobs that wait for
 * one. How an attempt ends:
 *
 *     handler returns                        → complete
 *     handler throws                         → fail (a cancel in flight makes that `cancelled`)
 *     … after the worker told it to stop     → release, with the cause
 *     startToClose passes                    → abort, fail at once: its lease ends at that instant too
 *     the lease is lost                      → abort, nothing is written
 *     the signal is ignored until the end    → nothing is written, the lease ends
 *     told to stop, or waits too long, before its handler was called → release
 */
export class Attempts {
  readonly #ports: WorkerPorts
  readonly #settler: Settler
  readonly #limits: AttemptLimits
  readonly #running = new Set<Attempt>()
  readonly #waiting: Attempt[] = []
  readonly #settling = new Set<string>()
  readonly #watchers: (() => void)[] = []
  readonly tally = { succeeded: 0, failed: 0, cancelled: 0, released: 0, lost: 0, abandoned: 0 }

  constructor(ports: WorkerPorts, settler: Settler, limits: AttemptLimits) {
    this.#ports = ports
    this.#settler = settler
    this.#limits = limits
  }

  /** Handlers that run. */
  get running(): number {
    return this.#running.size
  }

  /** Jobs that wait for a free handler. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Every attempt whose end is not decided. */
  held(): Attempt[] {
    return [...this.#running, ...this.#waiting].filter(attempt => !attempt.isDecided)
  }

  /** The ids of all jobs whose end is not stored yet. */
  unsettled(): string[] {
    return [...this.#running, ...this.#waiting].map(({ job }) => job.id).concat(...this.#settling)
  }

  /** Resolves when the next handler has ended, or on {@link wake}. */
  nextEnd(): Promise<void> {
    return new Promise(resolve => this.#watchers.push(resolve))
  }

  /** Lets whoever waits for an end look again. */
  wake(): void {
    for (const resolve of this.#watchers.splice(0)) resolve()
  }

  /** Runs a job that was claimed at an instant of `nowMs` or a moment later, as soon as a handler is free. */
  start(job: ClaimedJob, claimedAtMs: number): void {
    const controller = new AbortController()
    this.#waiting.push({ job, claimedAtMs, controller, stopCause: undefined, isDecided: false })
    this.#fill()
  }

  /** Gives back a job whose handler was never called. */
  release(job: Claimed, cause: ReleaseCause): void {
    void this.#settle(job, { verb: 'release', cause, result: null, error: null })
  }

  /** Gives back the jobs that wait: all, or those that have waited too long. */
  releaseWaiting(cause: 'soft_stop' | 'no_free_handler'): void {
    const sinceMs = cause === 'soft_stop' ? Number.POSITIVE_INFINITY : this.#ports.nowMs() - waitMsMax
    const late = this.#waiting.filter(attempt => attempt.claimedAtMs <= sinceMs)
    for (const attempt of late) {
      this.#waiting.splice(this.#waiting.indexOf(attempt), 1)
      attempt.isDecided = true
      this.release(attempt.job, cause)
    }
  }

  /** Tells an attempt to stop: its handler by the signal; without one it ends here. */
  stop(attempt: Attempt, cause: StopCause, detail?: string): void {
    if (attempt.isDecided || attempt.stopCause !== undefined) return
    attempt.stopCause = cause
    const place = this.#waiting.indexOf(attempt)
    if (place >= 0) {
      this.#waiting.splice(place, 1)
      // Released with its cancel in flight, a job is cancelled.
      if (cause !== 'lease_lost')
        this.release(attempt.job, cause === 'soft_stop' ? cause : 'heartbeats_failed')
    }
    if (cause === 'lease_lost' || place >= 0) attempt.isDecided = true
    attempt.controller.abort(new JobStopped(cause, detail))
  }

  #fill(): void {
    while (this.#running.size < this.#limits.concurrency) {
      const attempt = this.#waiting.shift()
      if (attempt === undefined) return
      this.#running.add(attempt)
      void this.#run(attempt)
    }
  }

  async #run(attempt: Attempt): Promise<void> {
    const startedMs = this.#ports.nowMs()
    const ended = new AbortController()
    void this.#limit(attempt, ended.signal)
    if (!attempt.isDecided) await this.#perform(attempt)
    ended.abort()
    this.#limits.jobTook(this.#ports.nowMs() - startedMs)
    this.#running.delete(attempt)
    this.#fill()
    this.wake()
  }

  async #perform(attempt: Attempt): Promise<void> {
    const { job } = attempt
    const actor = this.#limits.actors.get(job.actor)
    if (actor === undefined) throw new Error(`actor "${job.actor}" was claimed and is not ours`)
    const outcome = await perform(actor, job, attempt.controller.signal, this.#limits.resultBytesMax)
    if (attempt.isDecided) return
    attempt.isDecided = true
    void this.#settle(job, endingOf(outcome, attempt.stopCause))
  }

  /** Ends an attempt that is older than it may be, measured from before the claim: rather early than late. */
  async #limit(attempt: Attempt, ended: AbortSignal): Promise<void> {
    const { startToCloseMs } = attempt.job
    if (startToCloseMs === null) return
    const leftMs = () => attempt.claimedAtMs + startToCloseMs - this.#ports.nowMs()
    while (leftMs() > 0 && !ended.aborted) await this.#ports.sleep(Math.min(leftMs(), longestWaitMs), ended)
    if (ended.aborted || attempt.isDecided) return
    this.stop(attempt, 'start_to_close')
    attempt.isDecided = true
    const error = { errorClass: 'StartToCloseExceeded', message: stopMessages.start_to_close, stack: null }
    void this.#settle(attempt.job, { verb: 'fail', cause: 'start_to_close', result: null, error })
  }

  async #settle({ id, attempt, epoch }: Claimed, ending: Ending): Promise<void> {
    this.#settling.add(id)
    const settledAs: SettledAs = await this.#settler.settle({ id, attempt, epoch, ...ending })
    this.#settling.delete(id)
    this.tally[settledAs]++
  }
}

function endingOf(outcome: Outcome, stopCause: StopCause | undefined): Ending {
  if (outcome.ended === 'returned') {
    return { verb: 'complete', cause: null, result: outcome.result, error: null }
  }
  if (stopCause === 'soft_stop' || stopCause === 'heartbeats_failed') {
    return { verb: 'release', cause: stopCause, result: null, error: null }
  }
  const verb = outcome.isFinal ? 'fail_for_good' : 'fail'
  return { verb, cause: stopCause ?? null, result: null, error: outcome.error }
}
