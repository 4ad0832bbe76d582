import { randomBytes } from 'node:crypto'
import { vi } from 'vitest'
import { serveSecrets } from '../../functions/dev/secrets-endpoint.ts'
import { readSettings, type Settings, writeSettings } from '../../shared/core/read-settings.ts'
import type { TestDatabase } from './database.ts'
import { type Login, makeLogin } from './logins.ts'

/** A secret that names one of two logins of a database, and both of its passwords may be rotated. */
export interface RotatedSecret {
  /** Settings that find the database by way of the secret. */
  readonly settings: Settings
  /** How often the secret was read. */
  fetches(): number
  /** Makes up another password for a login, the first or the second; the two steps below make use of it. */
  renew(user: 0 | 1): void
  /** Tells the server. Who is connected stays so. */
  alter(user: 0 | 1): Promise<void>
  /** Writes it into the secret. */
  publish(user: 0 | 1): void
  close(): Promise<void>
}

/** Serves a secret of this database, and makes this process' AWS client ask the local service for it. */
export async function serveRotatedSecret(database: TestDatabase): Promise<RotatedSecret> {
  const logins = [await makeLogin(database, 'superuser'), await makeLogin(database, 'superuser')] as const
  const passwords: [string, string] = [logins[0].name, logins[1].name]
  const suffix = randomBytes(3).toString('hex')
  const arn = `arn:aws:secretsmanager:eu-central-1:111122223333:secret:rotated-${suffix}`
  const urlOf = ({ url }: Login, password: string) => Object.assign(new URL(url), { password }).href
  let text = urlOf(logins[0], passwords[0])
  let fetches = 0
  const secrets = {
    get [arn]() {
      fetches += 1
      return text
    },
  }
  const endpoint = await serveSecrets(secrets)
  vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', endpoint.url)
  vi.stubEnv('AWS_REGION', 'eu-central-1')
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'local')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local')
  return {
    settings: readSettings(writeSettings({ databaseSecretArn: arn })),
    fetches: () => fetches,
    renew: user => {
      passwords[user] = randomBytes(12).toString('hex')
    },
    alter: async user => {
      await database.rows(`alter role ${logins[user].name} password '${passwords[user]}'`)
    },
    publish: user => {
      text = urlOf(logins[user], passwords[user])
    },
    close: async () => {
      vi.unstubAllEnvs()
      await endpoint.close()
      for (const login of logins) await login.drop()
    },
  }
}
