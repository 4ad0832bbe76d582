import type { RunnableActor } from '../client/handler.ts'
import type { ClaimedJob } from './claim.ts'
import { type Outcome, perform } from './perform.ts'
import type { WorkerPorts } from './ports.ts'
import type { Settlement } from './settle.ts'
import type { SettledAs, Settler } from './settler.ts'

/** Why the signal of a handler was aborted; the class of the reason that the handler sees. */
export type StopCause = 'cancelled' | 'lease_lost' | 'heartbeats_failed' | 'start_to_close' | 'soft_stop'

/** Why a job was given back; `claim_reply_lost`: its worker never heard of it. */
export type ReleaseCause = StopCause | 'claim_reply_lost'

const messages: Readonly<Record<StopCause, string>> = {
  cancelled: 'the job was cancelled',
  lease_lost: 'the lease of the job is lost: another may run it now',
  heartbeats_failed: 'the database was out of reach for too long to keep the lease',
  start_to_close: 'the attempt took longer than its startToClose',
  soft_stop: 'the worker stops',
}

/** The reason of an aborted signal. */
export class JobStopped extends Error {
  override readonly name = 'JobStopped'
  readonly stopCause: StopCause

  constructor(stopCause: StopCause, detail?: string) {
    super(detail === undefined ? messages[stopCause] : `${messages[stopCause]}: ${detail}`)
    this.stopCause = stopCause
  }
}

/** One claim of a job, while its handler runs. */
export interface Attempt {
  readonly job: ClaimedJob
  readonly controller: AbortController
  /** The first reason to stop it; later ones change nothing. */
  stopCause: StopCause | undefined
  /** Set once its end is decided: what its handler does after that is not heard. */
  isDecided: boolean
}

/** A timer cannot wait longer than 2^31 ms. */
const longestWaitMs = 86_400_000

/**
 * The attempts that run in this worker, and how they end:
 *
 *     handler returns                        → complete
 *     handler throws                         → fail (a cancel in flight makes that `cancelled`)
 *     … after the worker asked it to stop    → release, with the cause
 *     startToClose passes                    → abort, fail at once: its lease ends at that instant too
 *     the lease is lost                      → abort, nothing is written
 *     the signal is ignored until the end    → nothing is written, the lease ends
 */
export class Attempts {
  readonly #ports: WorkerPorts
  readonly #settler: Settler
  readonly #actors: ReadonlyMap<string, RunnableActor>
  readonly #resultBytesMax: number
  readonly #running = new Map<string, Attempt>()
  readonly #tally: Record<SettledAs, number> = {
    succeeded: 0,
    failed: 0,
    cancelled: 0,
    released: 0,
    lost: 0,
    abandoned: 0,
  }
  readonly #settling = new Set<string>()
  readonly #waiting: (() => void)[] = []

  constructor(
    ports: WorkerPorts,
    settler: Settler,
    actors: ReadonlyMap<string, RunnableActor>,
    resultBytesMax: number,
  ) {
    this.#ports = ports
    this.#settler = settler
    this.#actors = actors
    this.#resultBytesMax = resultBytesMax
  }

  get size(): number {
    return this.#running.size
  }

  /** How many jobs were settled as what. */
  get tally(): Readonly<Record<SettledAs, number>> {
    return this.#tally
  }

  running(): Attempt[] {
    return [...this.#running.values()]
  }

  /** The ids of all jobs whose end is not stored yet, those included that wait for it. */
  unsettled(): string[] {
    return [...this.running().map(({ job }) => job.id), ...this.#settling]
  }

  /** Resolves when the next handler has ended, or on {@link wake}. */
  nextEnd(): Promise<void> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  /** Lets whoever waits for an end look again. */
  wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** Runs a job that was claimed at an instant of `nowMs`, or a moment later. */
  start(job: ClaimedJob, claimedAtMs: number): void {
    const attempt: Attempt = {
      job,
      controller: new AbortController(),
      stopCause: undefined,
      isDecided: false,
    }
    const key = `${job.id}:${job.epoch}`
    this.#running.set(key, attempt)
    const ended = new AbortController()
    if (job.startToCloseMs !== null) {
      void this.#limit(attempt, claimedAtMs + job.startToCloseMs, ended.signal)
    }
    void this.#perform(attempt).then(() => {
      ended.abort()
      this.#running.delete(key)
      this.wake()
    })
  }

  /** Gives back a job whose handler was never called. */
  release(job: Claimed, cause: ReleaseCause): Promise<SettledAs> {
    return this.#settle(job, { verb: 'release', cause, result: null, error: null })
  }

  stop(attempt: Attempt, cause: StopCause, detail?: string): void {
    if (attempt.stopCause !== undefined) return
    attempt.stopCause = cause
    if (cause === 'lease_lost') attempt.isDecided = true
    attempt.controller.abort(new JobStopped(cause, detail))
  }

  async #perform(attempt: Attempt): Promise<void> {
    const { job } = attempt
    const actor = this.#actors.get(job.actor)
    // Only jobs of our actors are claimed, so this is for the compiler.
    if (actor === undefined) return void this.release(job, 'soft_stop')
    const outcome = await perform(actor, job, attempt.controller.signal, this.#resultBytesMax)
    if (attempt.isDecided) return
    attempt.isDecided = true
    void this.#settle(job, settlementOf(outcome, attempt.stopCause))
  }

  /** Ends an attempt that is older than it may be, measured from before the claim: rather early than late. */
  async #limit(attempt: Attempt, endMs: number, ended: AbortSignal): Promise<void> {
    for (let leftMs = endMs - this.#ports.nowMs(); leftMs > 0; leftMs = endMs - this.#ports.nowMs()) {
      await this.#ports.sleep(Math.min(leftMs, longestWaitMs), ended)
      if (ended.aborted) return
    }
    if (attempt.isDecided || attempt.stopCause !== undefined) return
    this.stop(attempt, 'start_to_close')
    attempt.isDecided = true
    const error = { errorClass: 'StartToCloseExceeded', message: messages.start_to_close, stack: null }
    void this.#settle(attempt.job, { verb: 'fail', cause: 'start_to_close', result: null, error })
  }

  async #settle(job: Claimed, ending: Ending): Promise<SettledAs> {
    const { id, attempt, epoch } = job
    this.#settling.add(id)
    const settledAs = await this.#settler.settle({ id, attempt, epoch, ...ending })
    this.#settling.delete(id)
    this.#tally[settledAs]++
    return settledAs
  }
}

type Claimed = Pick<ClaimedJob, 'id' | 'attempt' | 'epoch'>
type Ending = Omit<Settlement, 'id' | 'attempt' | 'epoch'>

function settlementOf(outcome: Outcome, stopCause: StopCause | undefined): Ending {
  if (outcome.ended === 'returned') {
    return { verb: 'complete', cause: null, result: outcome.result, error: null }
  }
  if (stopCause === 'soft_stop' || stopCause === 'heartbeats_failed') {
    return { verb: 'release', cause: stopCause, result: null, error: null }
  }
  const verb = outcome.isFinal ? 'fail_for_good' : 'fail'
  return { verb, cause: stopCause ?? null, result: null, error: outcome.error }
}
