import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { json } from 'node:stream/consumers'
import pg from 'pg'
import { createWebSocketStream, WebSocketServer } from 'ws'

/** A stand-in for Neon's service, by which Neon's driver reaches any server. */
export interface NeonProxy {
  /** Host and port, as `neonConfig` is told. */
  readonly origin: string
  stop(): Promise<void>
}

/**
 * Neon's two protocols on a free port of 127.0.0.1. A WebSocket to `/v1?address=host:port` carries the bytes
 * of a connection, as Neon's own proxy for other servers does. A POST to `/sql` runs one statement:
 *
 *     Neon-Connection-String: postgres://…      {"query": "select $1", "params": ["1"]}
 *     200 {"fields": [{"name", "dataTypeID"}], "rows": [["1"]], "command", "rowCount"}
 *     400 {"message", "code", "detail", …}
 *
 * Values are texts in both directions. As the service does, it keeps a few connections for all requests of
 * one address, so that a hundred at once neither need a hundred sessions nor wait for each other's locks.
 */
export async function startNeonProxy(): Promise<NeonProxy> {
  const pools = new Map<string, pg.Pool>()
  const poolOf = (connectionString: string) => {
    const pool = pools.get(connectionString) ?? new pg.Pool({ connectionString, max: sessionsPerAddress })
    if (!pools.has(connectionString)) pool.on('error', () => undefined)
    pools.set(connectionString, pool)
    return pool
  }
  const server = createServer((request, response) => {
    const pool = poolOf(String(request.headers['neon-connection-string']))
    answer(pool, request, response).catch(() => response.destroy())
  })
  const sockets = new WebSocketServer({ server, perMessageDeflate: false })
  sockets.on('connection', (socket, request) => {
    const address = new URL(request.url ?? '', 'http://proxy').searchParams.get('address') ?? ''
    const [host = '', port] = address.split(':')
    const there = connect(Number(port), host)
    const here = createWebSocketStream(socket)
    // Each end follows the other, however that ended.
    for (const [one, other] of [
      [here, there],
      [there, here],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const stop = async () => {
    for (const socket of sockets.clients) socket.terminate()
    const closed = new Promise(resolve => server.close(resolve))
    server.closeAllConnections()
    await closed
    await Promise.all([...pools.values()].map(pool => pool.end()))
  }
  return { origin: `127.0.0.1:${port}`, stop }
}

const sessionsPerAddress = 4

interface Asked {
  readonly query: string
  readonly params: unknown[]
}

async function answer(pool: pg.Pool, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (status: number, body: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }
  const { query, params } = (await json(request)) as Asked
  let client: pg.PoolClient
  try {
    client = await pool.connect()
  } catch (error) {
    // The service says in words alone why it could not log in.
    return send(400, { message: (error as Error).message })
  }
  let isGood = false
  try {
    const types = { getTypeParser: () => (text: string) => text }
    const { fields, rows, command, rowCount } = await client.query({
      text: query,
      values: params,
      rowMode: 'array',
      types,
    })
    isGood = true
    send(200, { fields, rows, command, rowCount, rowAsArray: true })
  } catch (error) {
    send(400, { ...(error as object), message: (error as Error).message })
  } finally {
    // A session that may be lost is not used again.
    client.release(!isGood)
  }
}
