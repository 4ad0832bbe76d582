import pg from 'pg'
import type { BatchOpened, BatchOpening, Connection, Queryable } from '../sql/connection.ts'
import { classify, clientTimeoutCode } from '../sql/failures.ts'
import { bind, render, type Statement } from '../sql/statement.ts'
import { beginText, chainText, openedBy, openingText } from './batch-text.ts'

/**
 * A connection that also runs whole scripts, which migrations need, and text with values, as an application's
 * own client does: `taskq dev` and `taskq demo` enqueue in a transaction of theirs.
 */
export interface ScriptConnection extends Connection, Queryable {
  /** Runs a text of several statements without parameters; answers with the rows of the last one. */
  script(text: string): Promise<unknown[]>
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

const int8Oid = 20
const int8ArrayOid = 1016
const parseInt8Array = (text: string) => text.slice(1, -1).split(',').filter(Boolean).map(Number)

/** Counts arrive as numbers: none of ours leaves the range in which a number is exact. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === int8Oid) return Number
    if (oid === int8ArrayOid) return parseInt8Array
    return pg.types.getTypeParser(oid, format as 'text')
  },
} as pg.CustomTypesConfig

/** Opens one connection over TCP. The caller closes it, in a `finally`. */
export async function connectPg(options: ConnectOptions): Promise<ScriptConnection> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs,
    keepAlive: true,
    types,
  })
  const connection = new PgConnection(client, options)
  await client.connect()
  return connection
}

class PgConnection implements ScriptConnection {
  readonly schema: string
  usable = true
  readonly #client: pg.Client
  readonly #queryTimeoutMs: number

  constructor(client: pg.Client, options: ConnectOptions) {
    this.schema = options.schema
    this.#client = client
    this.#queryTimeoutMs = options.queryTimeoutMs
    // Without a listener, a server that ends an idle connection would end the process.
    client.on('error', () => {
      this.usable = false
    })
  }

  async run<Row, Args>(statement: Statement<Row, Args>, args: Args): Promise<Row[]> {
    const { text, parameters } = render(statement.fragment, this.schema)
    const result = await this.#send({ text, values: bind(parameters, args) })
    return result.rows as Row[]
  }

  openBatch(opening: BatchOpening): Promise<BatchOpened> {
    return this.#open(beginText, opening)
  }

  chainBatch(opening: BatchOpening): Promise<BatchOpened> {
    return this.#open(chainText, opening)
  }

  async script(text: string): Promise<unknown[]> {
    const results = (await this.#send({ text })) as unknown as pg.QueryResult | pg.QueryResult[]
    return (Array.isArray(results) ? results.at(-1) : results)?.rows ?? []
  }

  async query(text: string, values: unknown[]): Promise<{ rows: unknown[] }> {
    return this.#send({ text, values })
  }

  async commit(): Promise<void> {
    await this.#send({ text: 'commit' })
  }

  async rollback(): Promise<void> {
    if (!this.usable) return
    await this.#send({ text: 'rollback' }).catch(() => {
      this.usable = false
    })
  }

  async close(): Promise<void> {
    // A connection that no longer answers would keep a graceful end waiting.
    if (this.usable) await this.#client.end().catch(() => undefined)
    else
      (this.#client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    this.usable = false
  }

  async #open(first: string, opening: BatchOpening): Promise<BatchOpened> {
    return openedBy(await this.script(`${first}; ${openingText(this.schema, opening)}`))
  }

  async #send(query: pg.QueryConfig): Promise<pg.QueryResult> {
    try {
      return await this.#client.query({ ...query, query_timeout: this.#queryTimeoutMs } as pg.QueryConfig)
    } catch (error) {
      throw this.#judge(error)
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
