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
 * Values are texts in both directions. The service keeps connections for its requests; here each has one.
 */
export async function startNeonProxy(): Promise<NeonProxy> {
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
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
  const stop = () =>
    new Promise<void>(resolve => {
      for (const socket of sockets.clients) socket.terminate()
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { origin: `127.0.0.1:${port}`, stop }
}

interface Asked {
  readonly query: string
  readonly params: unknown[]
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const send = (status: number, body: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  }
  const { query, params } = (await json(request)) as Asked
  const connectionString = String(request.headers['neon-connection-string'])
  const client = new pg.Client({ connectionString })
  client.on('error', () => undefined)
  // Who gave the request up takes its session along.
  response.on('close', () => void client.end().catch(() => undefined))
  try {
    await client.connect()
  } catch (error) {
    // The service says in words alone why it could not log in.
    return send(400, { message: (error as Error).message })
  }
  try {
    const types = { getTypeParser: () => (text: string) => text }
    const { fields, rows, command, rowCount } = await client.query({
      text: query,
      values: params,
      rowMode: 'array',
      types,
    })
    send(200, { fields, rows, command, rowCount, rowAsArray: true })
  } catch (error) {
    send(400, { ...(error as object), message: (error as Error).message })
  }
}
