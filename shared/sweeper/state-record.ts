import { WrongTargetError } from '../core/errors.ts'
import { storableError } from '../core/text.ts'
import type { Connection } from '../sql/connection.ts'
import { classify } from '../sql/failures.ts'
import type { Drained } from './drain.ts'
import type { Invocation } from './invocation.ts'
import { isSuccess, type Outcome } from './result.ts'
import { writeState } from './state.ts'
import type { Totals } from './totals.ts'

/** The function's row of state, as one run has written it so far. */
export class StateRecord {
  #writes = 0
  #rows = 0
  #outcome: Outcome | undefined
  readonly #invocation: Invocation
  readonly #startedAt: string
  readonly #totals: Totals

  constructor(invocation: Invocation, startedAt: string, totals: Totals) {
    this.#invocation = invocation
    this.#startedAt = startedAt
    this.#totals = totals
  }

  isBehind(outcome: Outcome): boolean {
    return this.#rows !== this.#totals.rows || this.#outcome !== outcome
  }

  async write(connection: Connection, { outcome, error }: Drained): Promise<void> {
    const { sweep, request, plan } = this.#invocation
    const { settings } = request
    const batchSizeConfigured = settings[sweep.batchSize]
    await connection.run(writeState, {
      purpose: sweep.purpose,
      startedAt: this.#startedAt,
      isSuccess: isSuccess(outcome),
      outcome,
      rows: this.#totals.rows,
      rowsAdded: this.#totals.rows - this.#rows,
      batchSize: plan.batchSize,
      batchSizeConfigured,
      error: error === undefined ? null : storableError(error).message,
      isFirstWrite: this.#writes === 0,
      isAbort: this.#isAbort({ outcome, error }),
      breakerThreshold: settings.sweepBreakerFailureThreshold,
      breakerWindowSeconds: Math.max(
        settings.sweepBreakerWindowSecs,
        cadencesMin * sweep.cadenceMinutes * 60,
      ),
    })
    this.#writes += 1
    this.#rows = this.#totals.rows
    this.#outcome = outcome
  }

  /** Leaves a trace of what is about to be thrown, where the connection still can. */
  async fault(connection: Connection, error: unknown): Promise<void> {
    if (!connection.usable || error instanceof WrongTargetError) return
    await this.write(connection, { outcome: 'aborted', error }).catch(() => undefined)
  }

  /**
   * Whether this counts towards the breaker: a batch that the server had no time for, of a size that the
   * settings ask for. That a larger one does not fit, which somebody tried by hand, says nothing about it;
   * nor does a lock that was not to be had.
   */
  #isAbort({ outcome, error }: Drained): boolean {
    const { sweep, request, plan } = this.#invocation
    const isConfigured = plan.batchSize <= request.settings[sweep.batchSize]
    return sweep.breaker && outcome === 'aborted' && isConfigured && classify(error) === 'timeout'
  }
}

/** A streak may always span so many cadences: a function that starts seldom could never latch otherwise. */
const cadencesMin = 4
