import type { BatchOpened, BatchOpening, Connection, Queryable } from '../sql/connection.ts'
import { classify, clientTimeoutCode } from '../sql/failures.ts'
import { bind, render, type Statement } from '../sql/statement.ts'
import { beginText, chainText, type OpeningRow, openedBy, openingText } from './batch-text.ts'

/**
 * A connection that also runs whole scripts, which migrations need, and text with values, as an application's
 * own client does: `taskq dev` and `taskq demo` enqueue in a transaction of theirs.
 */
export interface ScriptConnection extends Connection, Queryable {
  /** Runs a text of several statements without parameters; answers with the rows of the last one. */
  script(text: string): Promise<unknown[]>
  /** Lets the process end while this sits idle; a statement under way, or the close, still holds it. */
  unref(): void
}

export interface ConnectOptions {
  readonly url: string
  readonly schema: string
  /** Shown in pg_stat_activity; the only startup parameter that a transaction pooler lets through. */
  readonly applicationName: string
  readonly connectTimeoutMs: number
  /** The client gives a statement up after this long: a dead socket says nothing by itself. */
  readonly queryTimeoutMs: number
}

/** What one statement, or one text of several, is answered with. */
interface Answer {
  readonly rows: unknown[]
}

/** The client of node-postgres, over a socket or through Neon's WebSocket: as much of it as is used. */
export interface DriverClient {
  connect(): Promise<unknown>
  query(query: { readonly text: string; readonly values?: unknown[] }): Promise<Answer | Answer[]>
  end(): Promise<void>
  on(event: 'error', listener: (error: unknown) => void): unknown
  readonly connection: { readonly stream: { destroy(): void; ref(): unknown; unref(): unknown } }
}

/** How both drivers are set up. Every other setting is the transaction's own: a pooler refuses it here. */
export function clientConfig(options: ConnectOptions) {
  return {
    connectionString: options.url,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs,
    // The driver's own clock, not the server's. Neon's driver does not heed it with a single query.
    query_timeout: options.queryTimeoutMs,
    keepAlive: true,
  }
}

type ParserOf = (oid: number, format: 'text' | 'binary') => (value: string) => unknown

const int8Oid = 20
const int8ArrayOid = 1016
const parseInt8Array = (text: string) => text.slice(1, -1).split(',').filter(Boolean).map(Number)

/** Counts arrive as numbers: none of ours leaves the range in which a number is exact. */
export function typesOver(parserOf: ParserOf) {
  return {
    getTypeParser: (oid: number, format: 'text' | 'binary' = 'text') => {
      if (oid === int8Oid) return Number
      if (oid === int8ArrayOid) return parseInt8Array
      return parserOf(oid, format)
    },
  }
}

/** Connects a driver's client and makes it one of ours. */
export async function connectDriver(
  client: DriverClient,
  options: ConnectOptions,
): Promise<ScriptConnection> {
  const connection = new DriverConnection(client, options.schema)
  try {
    await client.connect()
    return connection
  } catch (error) {
    throw asError(error)
  }
}

/** A WebSocket that breaks rejects with an event, which is no error and says little. */
function asError(error: unknown): unknown {
  if (error instanceof Error) return error
  const { message, error: cause } = (error ?? {}) as { message?: unknown; error?: unknown }
  const said = typeof message === 'string' && message !== '' ? message : 'the connection was refused or broke'
  return Object.assign(new Error(said, { cause: cause ?? error }), { code: 'ECONNRESET' })
}

class DriverConnection implements ScriptConnection {
  readonly schema: string
  usable = true
  readonly #client: DriverClient
  /** Whether the login may assume a role, by its name, once an opening has asked. */
  readonly #mayAssume = new Map<string, boolean>()

  constructor(client: DriverClient, schema: string) {
    this.schema = schema
    this.#client = client
    // Without a listener, a server that ends an idle connection would end the process.
    client.on('error', () => {
      this.usable = false
    })
  }

  async run<Row, Args>(statement: Statement<Row, Args>, args: Args): Promise<Row[]> {
    const { text, parameters } = render(statement.fragment, this.schema)
    const { rows } = await this.query(text, bind(parameters, args))
    return rows as Row[]
  }

  openBatch(opening: BatchOpening): Promise<BatchOpened> {
    return this.#open(beginText, opening)
  }

  chainBatch(opening: BatchOpening): Promise<BatchOpened> {
    return this.#open(chainText, opening)
  }

  async script(text: string): Promise<unknown[]> {
    const answers = await this.#send(text)
    return (Array.isArray(answers) ? answers.at(-1) : answers)?.rows ?? []
  }

  async query(text: string, values: unknown[]): Promise<{ rows: unknown[] }> {
    // With values the protocol takes one statement, so there is one answer.
    return (await this.#send(text, values)) as Answer
  }

  async commit(): Promise<void> {
    await this.#send('commit')
  }

  async rollback(): Promise<void> {
    if (!this.usable) return
    await this.#send('rollback').catch(() => {
      this.usable = false
    })
  }

  unref(): void {
    // The timer of the query timeout keeps the process while a statement is under way.
    this.#client.connection.stream.unref()
  }

  async close(): Promise<void> {
    this.#client.connection.stream.ref()
    // A connection that no longer answers would keep a graceful end waiting.
    if (this.usable) await this.#client.end().catch(() => undefined)
    else this.#client.connection.stream.destroy()
    this.usable = false
  }

  async #open(first: string, opening: BatchOpening): Promise<BatchOpened> {
    const { role = '' } = opening
    const text = openingText(this.schema, opening, this.#mayAssume.get(role))
    const [row] = (await this.script(`${first}; ${text}`)) as OpeningRow[]
    if (row?.role !== undefined) this.#mayAssume.set(role, row.role !== null)
    return openedBy(row)
  }

  async #send(text: string, values?: unknown[]): Promise<Answer | Answer[]> {
    try {
      return await this.#client.query(values === undefined ? { text } : { text, values })
    } catch (error) {
      throw this.#judge(asError(error))
    }
  }

  #judge(error: unknown): unknown {
    if (error instanceof Error && error.message === 'Query read timeout') {
      this.usable = false
      return Object.assign(error, { code: clientTimeoutCode })
    }
    const code = (error as { code?: string }).code
    const failure = classify(error)
    // The server ends the session with these; with the other timeouts it lives on.
    if (failure === 'lost' || failure === 'idle' || code === '25P04') this.usable = false
    return error
  }
}
