import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server of our own on a free port of 127.0.0.1, which stands in for one of the cloud's. */
export interface LocalEndpoint {
  readonly url: string
  close(): Promise<void>
}

export interface LocalRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface LocalResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Answers every request; one whose answer fails is cut off, as by a network. */
export async function listenHere(
  answer: (request: LocalRequest) => LocalResponse | Promise<LocalResponse>,
): Promise<LocalEndpoint> {
  const respond = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const body = Buffer.concat(await incoming.toArray()).toString()
    const { method = '', url: path = '', headers } = incoming
    const { status, headers: own, body: told = '' } = await answer({ method, path, headers, body })
    outgoing.writeHead(status, own).end(told)
  }
  const server = createServer((incoming, outgoing) => {
    respond(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
