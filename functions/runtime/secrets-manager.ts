/** Reads the text of a secret. Region, credentials and a local endpoint are the SDK's to find. */
export async function readSecret(arn: string): Promise<string> {
  // Larger than all the rest, so it is loaded here: a warm or configured start never needs it.
  const { GetSecretValueCommand, SecretsManagerClient } = await import('@aws-sdk/client-secrets-manager')
  const client = new SecretsManagerClient({ maxAttempts: 3 })
  try {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: arn }))
    if (SecretString === undefined) throw new Error('it holds bytes and no text')
    return SecretString
  } finally {
    client.destroy()
  }
}
