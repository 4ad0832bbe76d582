import type { Connection } from '../sql/connection.ts'
import type { Statement } from '../sql/statement.ts'

/**
 * One connection that is opened when it is needed and opened anew after it was lost. It repeats nothing:
 * whoever asked knows whether that is safe.
 */
export class Link {
  readonly #open: () => Promise<Connection>
  #connection: Promise<Connection> | undefined

  constructor(open: () => Promise<Connection>) {
    this.#open = open
  }

  async run<Row, Args>(statement: Statement<Row, Args>, args: Args): Promise<Row[]> {
    this.#connection ??= this.#open()
    const mine = this.#connection
    try {
      const connection = await mine
      // The server may have ended it while it sat idle; nothing was sent, so another serves as well.
      if (!connection.usable) return await this.#again(mine, statement, args)
      return await connection.run(statement, args)
    } catch (error) {
      const connection = await mine.catch(() => undefined)
      if (connection?.usable !== true) await this.#forget(mine)
      throw error
    }
  }

  /** Drops the connection; the next statement opens another. */
  async drop(): Promise<void> {
    if (this.#connection !== undefined) await this.#forget(this.#connection)
  }

  async #again<Row, Args>(lost: Promise<Connection>, statement: Statement<Row, Args>, args: Args) {
    await this.#forget(lost)
    this.#connection ??= this.#open()
    const connection = await this.#connection
    return connection.run(statement, args)
  }

  async #forget(mine: Promise<Connection>): Promise<void> {
    if (this.#connection === mine) this.#connection = undefined
    const connection = await mine.catch(() => undefined)
    await connection?.close()
  }
}
