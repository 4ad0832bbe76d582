import { TaskQError } from '../core/errors.ts'
import type { Connection, Runner } from '../sql/connection.ts'

/** What a set of connections needs. */
export interface ConnectionPorts {
  readonly connect: () => Promise<Connection>
  /** What runs lone statements by requests of their own; undefined where the database takes none. */
  readonly requests?: () => Promise<Runner | undefined>
  /** The wall clock, in milliseconds. It only measures how long a socket sat idle, frozen time included. */
  readonly nowMs: () => number
}

/** At most a few connections, opened when they are needed and shared by turns. */
export interface Connections {
  /** Runs some work on a connection of its own; where all are busy, after its turn has come. */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /**
   * Runs a statement that stands alone: as `use`, or by a request of its own where there are such and no
   * connection sits idle. A request takes a connection's place, since the service answers it by one.
   */
  lone<T>(work: (runner: Runner) => Promise<T>): Promise<T>
  /** Closes what sits idle, and what is in use as soon as its work has ended. The set opens no other. */
  close(): Promise<void>
}

/** Connections of one client: what ten enqueues in flight need, and what a hundred Lambdas may hold. */
export const connectionsMax = 4

/**
 * Older sockets are not trusted: a sandbox that was frozen thaws with sockets whose peer has long gone and
 * never said so, and the first statement would hang on them.
 */
const idleMsMax = 30_000

/**
 * Keeps at most `max` connections. It has no timer, since none runs in a frozen sandbox: an idle socket is
 * judged when it is wanted next. After one was lost, all that sit idle beside it are dropped as well.
 */
export function connectionSet(ports: ConnectionPorts, max: number): Connections {
  return new ConnectionSet(ports, max)
}

class ConnectionSet implements Connections {
  readonly #ports: ConnectionPorts
  readonly #max: number
  #idle: { readonly connection: Connection; readonly sinceMs: number }[] = []
  readonly #waiting: (() => void)[] = []
  /** Connections that are open or being opened, and requests under way. */
  #taken = 0
  #isClosed = false

  constructor(ports: ConnectionPorts, max: number) {
    this.#ports = ports
    this.#max = max
  }

  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#working((await this.#turn()) ?? (await this.#open()), work)
  }

  async lone<T>(work: (runner: Runner) => Promise<T>): Promise<T> {
    const requests = await this.#ports.requests?.()
    if (requests === undefined) return this.use(work)
    const kept = await this.#turn()
    if (kept !== undefined) return this.#working(kept, work)
    try {
      return await work(requests)
    } finally {
      this.#leavePlace()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const wake of this.#waiting.splice(0)) wake()
    await Promise.all(this.#idle.splice(0).map(({ connection }) => this.#drop(connection)))
  }

  /** A connection that sat idle, or undefined with a place taken for another, or for a request. */
  async #turn(): Promise<Connection | undefined> {
    for (;;) {
      if (this.#isClosed) throw new TaskQError('USAGE', 'the connections are closed')
      this.#dropIdle(({ sinceMs }) => sinceMs < this.#ports.nowMs() - idleMsMax)
      const kept = this.#idle.pop()
      if (kept !== undefined) return kept.connection
      if (this.#taken < this.#max) {
        this.#taken++
        return undefined
      }
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
  }

  async #open(): Promise<Connection> {
    try {
      return await this.#ports.connect()
    } catch (error) {
      this.#leavePlace()
      throw error
    }
  }

  #leavePlace(): void {
    this.#taken--
    this.#waiting.shift()?.()
  }

  async #working<T>(connection: Connection, work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await work(connection)
    } finally {
      await this.#release(connection)
    }
  }

  async #release(connection: Connection): Promise<void> {
    if (!connection.usable) this.#dropIdle(() => true)
    if (connection.usable && !this.#isClosed) {
      this.#idle.push({ connection, sinceMs: this.#ports.nowMs() })
    } else await this.#drop(connection)
    this.#waiting.shift()?.()
  }

  #dropIdle(isSuspect: (idle: { sinceMs: number }) => boolean): void {
    const suspect = this.#idle.filter(each => !each.connection.usable || isSuspect(each))
    this.#idle = this.#idle.filter(each => !suspect.includes(each))
    for (const { connection } of suspect) void this.#drop(connection)
  }

  async #drop(connection: Connection): Promise<void> {
    this.#taken--
    await connection.close()
  }
}
