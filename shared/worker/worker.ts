import type { Settings } from '../core/read-settings.ts'
import { Attempts } from './attempts.ts'
import { Beat } from './beat.ts'
import { type ClaimAnswer, claimRowsMax } from './claim.ts'
import { Claimer, type Pace } from './claimer.ts'
import { heartbeat, type WorkerIdentity } from './heartbeat.ts'
import { Link } from './link.ts'
import type { CheckedOptions } from './options.ts'
import { orphans } from './orphans.ts'
import type { WorkerPorts } from './ports.ts'
import { forgetWorker } from './presence.ts'
import { type SettledAs, Settler } from './settler.ts'
import { Waiting } from './waiting.ts'

/** How a worker is, at this moment. */
export interface WorkerHealth {
  readonly state: 'working' | 'stopping' | 'stopped'
  /** False once its heartbeats or claims fail. */
  readonly healthy: boolean
  readonly workerId: string
  /** Handlers that run. */
  readonly running: number
  /** Jobs by how they were settled, since the start. */
  readonly settled: Readonly<Record<SettledAs, number>>
  /** What the last claim found. */
  readonly found: ClaimAnswer['found'] | undefined
  /** Heartbeats, and claims, that failed in a row. */
  readonly heartbeatFailures: number
  readonly claimFailures: number
  /** Repairs that failed, since the start. */
  readonly repairErrors: number
}

/** How long a stopping worker waits: for its handlers, for the aborted ones, for the database. */
export interface StopTimes {
  readonly softStopMs: number
  readonly cleanupMs: number
  readonly settleMs: number
}

/** How long the last settlements of a stopping worker may take. */
export const settleMsMax = 5000

/** A claim's statement takes milliseconds; what takes so long will not come. */
const queryTimeoutMs = 10_000

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
  readonly #claimer: Claimer
  readonly #beat: Beat
  readonly #waiting: Waiting
  readonly #stopping = new AbortController()
  #stopTimes: StopTimes
  #state: WorkerHealth['state'] = 'working'
  #found: ClaimAnswer['found'] | undefined
  #claimFailures = 0
  /** Resolves when everything has ended and every connection is closed. */
  readonly done: Promise<void>

  constructor(setup: WorkerSetup) {
    const { ports, settings, options, identity } = setup
    this.#setup = setup
    this.#link = new Link(() => ports.connect(queryTimeoutMs))
    this.#beatLink = new Link(() => ports.connect(settings.heartbeatCommandTimeout))
    this.#settler = new Settler(ports, this.#link, identity, settings.maxRetryBackoff)
    this.#attempts = new Attempts(ports, this.#settler, options.actors, settings.resultMaxBytes)
    this.#claimer = new Claimer(ports, this.#link, identity, [...options.actors.keys()], settings, setup.pace)
    this.#beat = new Beat(ports, this.#beatLink, identity, this.#attempts, settings)
    this.#waiting = new Waiting(settings.pollInterval, this.#claimer)
    this.#stopTimes = {
      softStopMs: settings.softStopTimeout,
      cleanupMs: settings.cleanupGrace,
      settleMs: settleMsMax,
    }
    this.done = this.#run()
  }

  health(): WorkerHealth {
    const heartbeatFailures = this.#beat.failures
    return {
      state: this.#state,
      healthy: heartbeatFailures === 0 && this.#claimFailures === 0,
      workerId: this.#setup.identity.workerId,
      running: this.#attempts.size,
      settled: { ...this.#attempts.tally },
      found: this.#found,
      heartbeatFailures,
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
      this.#attempts.wake()
    }
    return this.done
  }

  async #run(): Promise<void> {
    try {
      await this.#appear()
      this.#beat.start()
      await this.#claimUntilStopped()
      await this.#endHandlers()
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
    const { options, ports } = this.#setup
    while (!this.#stopping.signal.aborted) {
      const free = options.concurrency - this.#attempts.size
      if (free <= 0) {
        await this.#attempts.nextEnd()
        continue
      }
      const answer = await this.#claim(Math.min(free, claimRowsMax))
      if (answer !== undefined && answer.jobs.length > 0) continue
      if (answer?.found === 'empty' && (await this.#mayLeave())) return
      const pauseMs = await this.#pauseMs(answer)
      await ports.sleep(pauseMs, this.#stopping.signal)
    }
  }

  /** Claims and starts; undefined where the claim failed. */
  async #claim(batch: number): Promise<ClaimAnswer | undefined> {
    const claimedAtMs = this.#setup.ports.nowMs()
    try {
      if (this.#claimFailures > 0) await this.#releaseOrphans()
      const answer = await this.#claimer.claim(batch)
      this.#claimFailures = 0
      this.#found = answer.found
      if (answer.jobs.length > 0) this.#waiting.reset()
      for (const job of answer.jobs) {
        // The stop may have come while the claim was under way.
        if (this.#stopping.signal.aborted) void this.#attempts.release(job, 'soft_stop')
        else this.#attempts.start(job, claimedAtMs)
        this.#beat.heed(job.heartbeatTimeoutMs)
      }
      return answer
    } catch (error) {
      this.#claimFailures++
      this.#setup.ports.report({ during: 'claim', error })
      return undefined
    }
  }

  /** Gives back, uncharged, what a claim took whose reply was lost. */
  async #releaseOrphans(): Promise<void> {
    const known = this.#attempts.unsettled()
    const { workerId } = this.#setup.identity
    for (const orphan of await this.#link.run(orphans, { workerId, known })) {
      void this.#attempts.release(orphan, 'claim_reply_lost')
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
    if (leavesWhenIdleMs === null || this.#attempts.size > 0) return false
    const dueMs = await this.#claimer.untilNextDue().catch(() => null)
    return dueMs === null || dueMs > leavesWhenIdleMs
  }

  /** Waits for the handlers, aborts those that go on, waits again; who ignores that is left to its lease. */
  async #endHandlers(): Promise<void> {
    const { softStopMs, cleanupMs } = this.#stopTimes
    await this.#allEnded(softStopMs)
    for (const attempt of this.#attempts.running()) this.#attempts.stop(attempt, 'soft_stop')
    await this.#allEnded(cleanupMs)
    // Released while its handler goes on, a job would run twice at once.
    for (const attempt of this.#attempts.running()) attempt.isDecided = true
  }

  async #allEnded(withinMs: number): Promise<void> {
    const over = new AbortController()
    const deadline = this.#setup.ports.sleep(withinMs, over.signal).then(() => {
      over.abort()
      this.#attempts.wake()
    })
    while (this.#attempts.size > 0 && !over.signal.aborted) await this.#attempts.nextEnd()
    over.abort()
    await deadline
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
    if (this.#setup.identity.kind === 'lambda' || this.#attempts.size > 0) return
    try {
      await this.#link.run(forgetWorker, { workerId: this.#setup.identity.workerId })
    } catch (error) {
      this.#setup.ports.report({ during: 'stop', error })
    }
  }
}
