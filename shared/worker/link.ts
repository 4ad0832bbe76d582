import type { Connection } from '../sql/connection.ts'
import type { Statement } from '../sql/statement.ts'

/**
 * One connection that is opened when it is needed and opened anew after it was lost. Statements go one at a
 * time, in the order asked. It repeats nothing: whoever asked knows whether that is safe.
 */
export class Link {
  readonly #open: () => Promise<Connection>
  #connection: Promise<Connection> | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(open: () => Promise<Connection>) {
    this.#open = open
  }

  run<Row, Args>(statement: Statement<Row, Args>, args: Args): Promise<Row[]> {
    const mine = this.#last.then(() => this.#send(statement, args))
    this.#last = mine.catch(() => undefined)
    return mine
  }

  /** Drops the connection at once, whatever runs on it; the next statement opens another. */
  async drop(): Promise<void> {
    this.#last = Promise.resolve()
    if (this.#connection !== undefined) await this.#forget(this.#connection)
  }

  async #send<Row, Args>(statement: Statement<Row, Args>, args: Args): Promise<Row[]> {
    // The server may have ended it while it sat idle.
    const kept = await this.#connection?.catch(() => undefined)
    if (this.#connection !== undefined && kept?.usable !== true) await this.#forget(this.#connection)
    this.#connection ??= this.#open()
    const mine = this.#connection
    try {
      return await (await mine).run(statement, args)
    } catch (error) {
      const connection = await mine.catch(() => undefined)
      if (connection?.usable !== true) await this.#forget(mine)
      throw error
    }
  }

  async #forget(mine: Promise<Connection>): Promise<void> {
    if (this.#connection === mine) this.#connection = undefined
    const connection = await mine.catch(() => undefined)
    await connection?.close()
  }
}
