import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A local stand-in for Secrets Manager, so that a bundle reads its secret by the code that it deploys. */
export interface SecretsEndpoint {
  /** What `AWS_ENDPOINT_URL_SECRETS_MANAGER` is set to. */
  readonly url: string
  close(): Promise<void>
}

const target = 'secretsmanager.GetSecretValue'

/**
 * Answers GetSecretValue for these secrets, by ARN, on a free port of 127.0.0.1. It speaks the service's
 * JSON protocol and nothing else of it: another action, or another secret, is refused as AWS refuses it.
 */
export async function serveSecrets(secrets: Readonly<Record<string, string>>): Promise<SecretsEndpoint> {
  const server = createServer((request, response) => {
    answer(request, response, secrets).catch(() => response.destroy())
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

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  secrets: Readonly<Record<string, string>>,
): Promise<void> {
  const body = (await request.toArray()).join('')
  if (request.headers['x-amz-target'] !== target) {
    send(response, 400, { __type: 'UnknownOperationException', message: `only ${target} is served here` })
    return
  }
  const { SecretId: id } = JSON.parse(body) as { SecretId: string }
  const secret = secrets[id]
  if (secret === undefined) {
    const message = "Secrets Manager can't find the specified secret."
    send(response, 400, { __type: 'ResourceNotFoundException', Message: message })
    return
  }
  const name = id
    .split(':')
    .at(-1)
    ?.replace(/-\w{6}$/, '')
  const version = '00000000-0000-4000-8000-000000000001'
  const stages = { VersionId: version, VersionStages: ['AWSCURRENT'], CreatedDate: 0 }
  send(response, 200, { ARN: id, Name: name, SecretString: secret, ...stages })
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' })
  response.end(JSON.stringify(body))
}
