import { type LocalEndpoint, type LocalResponse, listenHere } from './local-endpoint.ts'

const target = 'secretsmanager.GetSecretValue'

/**
 * A local stand-in for Secrets Manager, so that a bundle reads its secret by the code that it deploys; its
 * address is what `AWS_ENDPOINT_URL_SECRETS_MANAGER` is set to. It answers GetSecretValue for these secrets,
 * by ARN, in the service's JSON protocol and nothing else of it: another action, or another secret, is
 * refused as AWS refuses it.
 */
export function serveSecrets(secrets: Readonly<Record<string, string>>): Promise<LocalEndpoint> {
  return listenHere(({ headers, body }) => {
    if (headers['x-amz-target'] !== target) {
      const message = `only ${target} is served here`
      return answer(400, { __type: 'UnknownOperationException', message })
    }
    const { SecretId: id } = JSON.parse(body) as { SecretId: string }
    const secret = secrets[id]
    if (secret === undefined) {
      const Message = "Secrets Manager can't find the specified secret."
      return answer(400, { __type: 'ResourceNotFoundException', Message })
    }
    const name = id
      .split(':')
      .at(-1)
      ?.replace(/-\w{6}$/, '')
    const version = '00000000-0000-4000-8000-000000000001'
    const stages = { VersionId: version, VersionStages: ['AWSCURRENT'], CreatedDate: 0 }
    return answer(200, { ARN: id, Name: name, SecretString: secret, ...stages })
  })
}

function answer(status: number, body: unknown): LocalResponse {
  return { status, headers: { 'content-type': 'application/x-amz-json-1.1' }, body: JSON.stringify(body) }
}
