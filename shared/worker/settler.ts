import { isTaskQError } from '../core/errors.ts'
import { classify, clientTimeoutCode, codeOf } from '../sql/failures.ts'
import type { WorkerIdentity } from './heartbeat.ts'
import type { Link } from './link.ts'
import type { WorkerPorts } from './ports.ts'
import { type Settlement, settle, settleArgs } from './settle.ts'

/** What became of a settlement; `abandoned`: it could not be stored, and the lease will end. */
export type SettledAs = 'succeeded' | 'failed' | 'cancelled' | 'released' | 'lost' | 'abandoned'

interface Pending {
  settlement: Settlement
  /** Whether the same verb may have been stored already, by a statement whose reply was lost. */
  isRepeat: boolean
  readonly done: (as: SettledAs) => void
}

const rowsMax = 500
const bytesMax = 4 * 1024 * 1024
const backoffMs = { least: 50, most: 5000 }

/**
 * Settles what has ended, everything that ended meanwhile in one statement. A network fault is outlived: the
 * same verbs are sent again, and answered with what was stored. A row that the database refuses for itself
 * is settled apart, so that it holds up nobody.
 */
export class Settler {
  readonly #ports: WorkerPorts
  readonly #link: Link
  readonly #worker: WorkerIdentity
  readonly #maxBackoffMs: number
  readonly #giveUp = new AbortController()
  #queue: Pending[] = []
  #flushing: Promise<void> | undefined

  constructor(ports: WorkerPorts, link: Link, worker: WorkerIdentity, maxBackoffMs: number) {
    this.#ports = ports
    this.#link = link
    this.#worker = worker
    this.#maxBackoffMs = maxBackoffMs
  }

  /** Stores one settlement; never rejects. */
  settle(settlement: Settlement): Promise<SettledAs> {
    return new Promise(done => {
      this.#queue.push({ settlement, isRepeat: false, done })
      this.#flushing ??= this.#flush()
    })
  }

  /** Waits until everything is stored, at most so long; then the rest is abandoned. */
  async drain(ms: number): Promise<void> {
    const idle = new AbortController()
    const flushed = (this.#flushing ?? Promise.resolve()).then(() => idle.abort())
    await Promise.race([flushed, this.#ports.sleep(ms, idle.signal)])
    this.#giveUp.abort()
    for (const pending of this.#queue.splice(0)) pending.done('abandoned')
  }

  async #flush(): Promise<void> {
    await this.#ports.turn()
    while (this.#queue.length > 0) await this.#store(this.#take())
    this.#flushing = undefined
  }

  #take(): Pending[] {
    let bytes = 0
    const end = this.#queue.findIndex(({ settlement }, index) => {
      bytes += settlement.result?.length ?? 0
      return index > 0 && (index === rowsMax || bytes > bytesMax)
    })
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end)
  }

  async #store(batch: Pending[]): Promise<void> {
    for (let tries = 0; !this.#giveUp.signal.aborted; tries++) {
      try {
        return await this.#send(batch)
      } catch (error) {
        this.#ports.report({ during: 'settle', error })
        if (isFault(error)) return await this.#storeApart(batch, error)
        for (const pending of batch) pending.isRepeat = true
        const pauseMs = Math.min(backoffMs.most, backoffMs.least * 2 ** tries)
        await this.#ports.sleep(pauseMs, this.#giveUp.signal)
      }
    }
    for (const pending of batch) pending.done('abandoned')
  }

  async #send(batch: readonly Pending[]): Promise<void> {
    const args = settleArgs(
      batch.map(pending => pending.settlement),
      this.#worker,
      this.#maxBackoffMs,
    )
    let rows = await this.#link.run(settle, args)
    // The first sending may have committed while this one waited for its rows, too late for its snapshot.
    if (rows.some(row => row.outcome === 'lost' && batch[row.ordinal - 1]?.isRepeat)) {
      rows = await this.#link.run(settle, args)
    }
    for (const row of rows) batch[row.ordinal - 1]?.done(row.outcome as SettledAs)
  }

  /** Finds the row that the database refuses; the job behind it fails, saying so. */
  async #storeApart(batch: Pending[], error: unknown): Promise<void> {
    const [only] = batch
    if (only === undefined) return
    if (batch.length > 1) {
      for (const pending of batch) await this.#store([pending])
    } else if (only.settlement.error?.errorClass === refusedClass) only.done('abandoned')
    else {
      // Its code alone: the message may quote the result.
      const message = `the database refused to store how the job ended (${codeOf(error) ?? 'no code'})`
      const refusal = { errorClass: refusedClass, message, stack: null }
      only.settlement = { ...only.settlement, verb: 'fail_for_good', result: null, error: refusal }
      await this.#store([only])
    }
  }
}

const refusedClass = 'SettleRefused'

/** Neither the network's, nor a lock's, nor the clock's: the statement itself cannot succeed. */
function isFault(error: unknown): boolean {
  if (isTaskQError(error)) return error.code === 'INTERNAL'
  return codeOf(error) !== clientTimeoutCode && classify(error) === 'fault'
}
