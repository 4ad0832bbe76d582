import { callersError } from '../client/failures.ts'
import { WrongTargetError } from '../core/errors.ts'
import type { Settings } from '../core/read-settings.ts'
import { attested } from '../sql/attest.ts'
import { classify } from '../sql/failures.ts'
import { Attempts, waitMsMax } from './attempts.ts'
import { Beat } from './beat.ts'
import { type ClaimAnswer, claimRowsMax } from './claim.ts'
import { Claimer, type Pace } from './claimer.ts'
import { heartbeat, type WorkerIdentity } from './heartbeat.ts'
import { Link } from './link.ts'
import { Lookahead } from './lookahead.ts'
import type { CheckedOptions } from './options.ts'
import { orphans } from './orphans.ts'
import type { WorkerPorts } from './ports.ts'
import { forgetWorker } from './presence.ts'
import { Settler } from './settler.ts'
import { endAttempts, type StopTimes, stopTimes } from './soft-stop.ts'
import { Waiting } from './waiting.ts'
import type { WorkerVitals } from './worker-health.ts'

/** A claim's statement takes milliseconds; what takes so long will not come. */
const queryTimeoutMs = 10_000

/** How often in a row an invocation may fail to claim. */
const claimTriesMax = 3

export interface WorkerSetup {
  readonly ports: WorkerPorts
  readonly settings: Settings
  readonly options: CheckedOptions
  readonly identity: WorkerIdentity
  readonly pace: Pace
  /** Leaves when a claim with its repair was empty and nothing falls due in this time; null: stays. */
  readonly leavesWhenIdleMs: number | null
}

/**
 * One worker, from its first claim to the end of its last handler:
 *
 *     claim up to the free handlers → run them → settle what ended → claim …
 *     nothing there: repair, ask when the next job is due, wait, at most 5 s
 *     stop: no new claim → wait for handlers → abort the rest, wait → release what stopped → leave
 *
 * Claims and settlements share a connection; heartbeats have their own, opened when the first is due.
 */
export class Worker {
  readonly #setup: WorkerSetup
  readonly #link: Link
  readonly #beatLink: Link
  readonly #settler: Settler
  readonly #attempts: Attempts
  readonly #lookahead = new Lookahead()
  readonly #claimer: Claimer
  readonly #beat: Beat
  readonly #waiting: Waiting
  readonly #stopping = new AbortController()
  #stopTimes: StopTimes
  #state: WorkerVitals['state'] = 'working'
  #found: ClaimAnswer['found'] | undefined
  #claimFailures = 0
  /** Resolves when everything has ended and every connection is closed. */
  readonly done: Promise<void>

  constructor(setup: WorkerSetup) {
    const { ports, settings, options, identity } = setup
    this.#setup = setup
    const connect = async (timeoutMs: number) => attested(await ports.connect(timeoutMs), settings)
    this.#link = new Link(() => connect(queryTimeoutMs))
    this.#beatLink = new Link(() => connect(settings.heartbeatCommandTimeout))
    this.#settler = new Settler(ports, this.#link, identity, settings.maxRetryBackoff)
    this.#attempts = new Attempts(ports, this.#settler, {
      actors: options.actors,
      concurrency: options.concurrency,
      resultBytesMax: settings.resultMaxBytes,
      jobTook: ms => this.#lookahead.jobTook(ms),
    })
    this.#claimer = new Claimer(ports, this.#link, identity, [...options.actors.keys()], settings, setup.pace)
    this.#beat = new Beat(ports, this.#beatLink, identity, this.#attempts, settings)
    this.#waiting = new Waiting(settings.pollInterval, this.#claimer)
    this.#stopTimes = stopTimes(settings)
    this.done = this.#run()
  }

  /** How it is at this moment; asks nobody. */
  vitals(): WorkerVitals {
    return {
      state: this.#state,
      workerId: this.#setup.identity.workerId,
      running: this.#attempts.running,
      settled: { ...this.#attempts.tally },
      found: this.#found,
      heartbeatFailures: this.#beat.failures,
      claimFailures: this.#claimFailures,
      repairErrors: this.#claimer.repairErrors,
    }
  }

  /** Begins the soft stop, once; resolves with {@link done}. */
  stop(times: Partial<StopTimes> = {}): Promise<void> {
    if (this.#state === 'working') {
      this.#state = 'stopping'
      this.#stopTimes = { ...this.#stopTimes, ...times }
      this.#stopping.abort()
      this.#attempts.releaseWaiting('soft_stop')
      this.#attempts.wake()
    }
    return this.done
  }

  async #run(): Promise<void> {
    try {
      await this.#appear()
      this.#beat.start()
      await this.#claimUntilStopped()
      await endAttempts(this.#setup.ports, this.#attempts, this.#stopTimes)
    } finally {
      await this.#settler.drain(this.#stopTimes.settleMs)
      await this.#beat.stop()
      await this.#disappear()
      await this.#link.drop()
      await this.#beatLink.drop()
      this.#state = 'stopped'
    }
  }

  async #claimUntilStopped(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const room = this.#room()
      if (room <= 0) {
        await this.#untilRoom()
        continue
      }
      const answer = await this.#claim(Math.min(room, claimRowsMax))
      if (answer !== undefined && answer.jobs.length > 0) continue
      if (answer?.found === 'empty' && (await this.#mayLeave())) return
      const pauseMs = await this.#pauseMs(answer)
      await this.#setup.ports.sleep(pauseMs, this.#stopping.signal)
    }
  }

  /** How many jobs to claim: for every free handler, and ahead once half of what was ahead is used up. */
  #room(): number {
    const { concurrency } = this.#setup.options
    const { running, waiting } = this.#attempts
    const ahead = this.#lookahead.size(concurrency)
    const isEnough = running === concurrency && waiting >= ahead / 2
    return isEnough ? 0 : concurrency + ahead - running - waiting
  }

  async #untilRoom(): Promise<void> {
    if (this.#attempts.waiting === 0) return this.#attempts.nextEnd()
    const ended = new AbortController()
    const next = this.#attempts.nextEnd().then(() => ended.abort())
    await this.#setup.ports.sleep(waitMsMax, ended.signal)
    if (!ended.signal.aborted) this.#attempts.wake()
    await next
    this.#attempts.releaseWaiting('no_free_handler')
  }

  /** Claims and starts; undefined where the claim failed. */
  async #claim(batch: number): Promise<ClaimAnswer | undefined> {
    const claimedAtMs = this.#setup.ports.nowMs()
    try {
      if (this.#claimFailures > 0) await this.#releaseOrphans()
      const answer = await this.#claimer.claim(batch)
      this.#lookahead.claimTook(this.#setup.ports.nowMs() - claimedAtMs)
      this.#claimFailures = 0
      this.#found = answer.found
      if (answer.jobs.length > 0) this.#waiting.reset()
      for (const job of answer.jobs) {
        // The stop may have come while the claim was under way.
        if (this.#stopping.signal.aborted) this.#attempts.release(job, 'soft_stop')
        else this.#attempts.start(job, claimedAtMs)
        this.#beat.heed(job.heartbeatTimeoutMs)
      }
      return answer
    } catch (error) {
      // Another installation's jobs are not ours to run, and no later claim will find this one's.
      if (error instanceof WrongTargetError) throw error
      this.#claimFailures++
      this.#setup.ports.report({ during: 'claim', error })
      if (this.#mayFail(error)) throw callersError(error)
      return undefined
    }
  }

  /**
   * Whether to end by failing, so that the platform counts it: an invocation that holds no job and cannot
   * claim. A lost connection is tried anew a few times; a refusal would only be repeated.
   */
  #mayFail(error: unknown): boolean {
    if (this.#setup.leavesWhenIdleMs === null || this.#attempts.unsettled().length > 0) return false
    return classify(error) === 'fault' || this.#claimFailures >= claimTriesMax
  }

  /** Gives back, uncharged, what a claim took whose reply was lost. */
  async #releaseOrphans(): Promise<void> {
    const known = this.#attempts.unsettled()
    const { workerId } = this.#setup.identity
    for (const orphan of await this.#link.run(orphans, { workerId, known })) {
      this.#attempts.release(orphan, 'claim_reply_lost')
    }
  }

  async #pauseMs(answer: ClaimAnswer | undefined): Promise<number> {
    try {
      return await this.#waiting.nextMs(answer?.found, this.#claimFailures)
    } catch (error) {
      this.#setup.ports.report({ during: 'claim', error })
      return this.#waiting.longestMs
    }
  }

  async #mayLeave(): Promise<boolean> {
    const { leavesWhenIdleMs } = this.#setup
    if (leavesWhenIdleMs === null || this.#attempts.running > 0) return false
    const dueMs = await this.#claimer.untilNextDue().catch(() => null)
    return dueMs === null || dueMs > leavesWhenIdleMs
  }

  /** The first sign of life, on the claims' connection: a short invocation needs no second one. */
  async #appear(): Promise<void> {
    try {
      await this.#link.run(heartbeat, {
        ...this.#setup.identity,
        ids: [],
        epochs: [],
        leaseMs: this.#setup.settings.lockLease,
      })
    } catch (error) {
      this.#setup.ports.report({ during: 'presence', error })
    }
  }

  /** A process that ends takes its row along; a Lambda's environment may serve again. */
  async #disappear(): Promise<void> {
    if (this.#setup.identity.kind === 'lambda' || this.#attempts.running > 0) return
    try {
      await this.#link.run(forgetWorker, { workerId: this.#setup.identity.workerId })
    } catch (error) {
      this.#setup.ports.report({ during: 'stop', error })
    }
  }
}
