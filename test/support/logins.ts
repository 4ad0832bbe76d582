import { randomBytes } from 'node:crypto'
import type { ScriptConnection } from '../../shared/db/driver-connection.ts'
import { connectPg } from '../../shared/db/pg.ts'
import type { TestDatabase } from './database.ts'

/** A login of a test's own. */
export interface Login {
  readonly name: string
  /** The database's direct URL, as this login. */
  readonly url: string
  /** A direct connection of ours as this login; closed with it. */
  connect(schema?: string): Promise<ScriptConnection>
  /** Takes it from the cluster, with all that it owns in this database. */
  drop(): Promise<void>
}

/** Makes a login with attributes as SQL has them, such as `in role taskq_client` or `createrole`. */
export async function makeLogin(database: TestDatabase, attributes = ''): Promise<Login> {
  const name = `login_${randomBytes(6).toString('hex')}`
  await database.rows(`create role ${name} login password '${name}' ${attributes}`)
  const { href } = Object.assign(new URL(database.directUrl), { username: name, password: name })
  const opened: ScriptConnection[] = []
  return {
    name,
    url: href,
    connect: async (schema = 'taskq') => {
      const limits = { connectTimeoutMs: 10_000, queryTimeoutMs: 30_000 }
      const connection = await connectPg({ url: href, schema, applicationName: 'login', ...limits })
      opened.push(connection)
      return connection
    },
    drop: async () => {
      await Promise.all(opened.map(connection => connection.close()))
      await database.rows(`drop owned by ${name} cascade`)
      await database.rows(`drop role ${name}`)
    },
  }
}
