import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'

/** Reads the text of a secret. Region, credentials and a local endpoint are the SDK's to find. */
export async function readSecret(arn: string): Promise<string> {
  const client = new SecretsManagerClient({ maxAttempts: 3 })
  try {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: arn }))
    if (SecretString === undefined) throw new Error('it holds bytes and no text')
    return SecretString
  } finally {
    client.destroy()
  }
}
