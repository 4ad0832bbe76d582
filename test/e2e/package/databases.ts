import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import type { Consumer } from '../../support/consumer.ts'
import { administer, databaseUrl } from '../../support/global-postgres.ts'

/** The URL of a database without anything in it. */
export async function emptyDatabase(): Promise<string> {
  const { directUrl } = inject('way')
  const name = `package_${randomBytes(6).toString('hex')}`
  await administer(directUrl, `create database ${name}`)
  return databaseUrl(directUrl, name)
}

/** The URL of a database that the consumer has migrated. */
export async function migratedDatabase({ run }: Consumer): Promise<string> {
  const url = await emptyDatabase()
  await run('npx', ['taskq', 'migrate', '--database-url', url])
  return url
}
