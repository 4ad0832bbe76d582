import { type Status, unreadStatus } from '../core/status.ts'
import type { WorkerPorts } from './ports.ts'
import type { WorkerHealth, WorkerVitals } from './worker-health.ts'

/** What a check of health needs of the world. */
export interface HealthPorts extends Pick<WorkerPorts, 'sleep'> {
  /** Reads the status of the queue, on a connection of its own. */
  readonly readStatus: () => Promise<Status>
}

/** A probe gives up sooner or later; this much later the answer is that there is none. */
const patienceMs = 5000

/**
 * Answers how a worker and its queue are. It never throws and never waits longer than 5 s: a database that
 * cannot be asked is an answer, too. It reads when it is asked and at no other time, and who asks while a
 * read is under way shares it, so that a probe of every second holds one connection at most.
 */
export class Health {
  readonly #ports: HealthPorts
  readonly #schema: string
  readonly #vitals: () => WorkerVitals
  #reading: Promise<Status> | undefined

  constructor(ports: HealthPorts, schema: string, vitals: () => WorkerVitals) {
    this.#ports = ports
    this.#schema = schema
    this.#vitals = vitals
  }

  async read(): Promise<WorkerHealth> {
    const status = await this.#status()
    const worker = this.#vitals()
    const faults = faultsOf(worker)
    return {
      ...status,
      healthy: status.healthy && faults.length === 0,
      reasons: [...faults, ...status.reasons],
      worker,
    }
  }

  async #status(): Promise<Status> {
    const answered = new AbortController()
    const silence = this.#ports
      .sleep(patienceMs, answered.signal)
      .then(() => unreadStatus(this.#schema, `the database has not answered within ${patienceMs / 1000} s`))
    try {
      return await Promise.race([this.#read(), silence])
    } finally {
      answered.abort()
    }
  }

  #read(): Promise<Status> {
    this.#reading ??= this.#attempt().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #attempt(): Promise<Status> {
    try {
      return await this.#ports.readStatus()
    } catch (error) {
      return unreadStatus(this.#schema, error instanceof Error ? error.message : String(error))
    }
  }
}

/** What of the worker's own fails, whatever the queue says; one that has stopped has nothing more to fail. */
function faultsOf({ state, heartbeatFailures, claimFailures }: WorkerVitals): string[] {
  if (state === 'stopped') return []
  const failed = (count: number, what: string) =>
    count === 0 ? [] : [`this worker: its last ${count === 1 ? what : `${count} ${what}s`} failed`]
  return [...failed(heartbeatFailures, 'heartbeat'), ...failed(claimFailures, 'claim')]
}
