import { Client, NeonDbError, neon, types as neonTypes } from '@neondatabase/serverless'
import type { Runner } from '../sql/connection.ts'
import { clientTimeoutCode } from '../sql/failures.ts'
import { bind, render, type Statement } from '../sql/statement.ts'
import {
  type ConnectOptions,
  clientConfig,
  connectDriver,
  type DriverClient,
  type ScriptConnection,
  typesOver,
} from './driver-connection.ts'

const types = typesOver((oid, format) => neonTypes.getTypeParser(oid, format as 'text'))

/** Opens one connection through a WebSocket to Neon. The caller closes it, in a `finally`. */
export function connectNeon(options: ConnectOptions): Promise<ScriptConnection> {
  const client = new Client({ ...clientConfig(options), types })
  return connectDriver(client as unknown as DriverClient, options)
}

export type RequestOptions = Pick<ConnectOptions, 'url' | 'schema' | 'queryTimeoutMs'>

/**
 * Runs lone statements, each by one HTTPS request: no connection is opened, kept, or found dead after a
 * freeze. Nothing that needs two statements of one transaction can go this way.
 */
export function requestNeon({ url, schema, queryTimeoutMs }: RequestOptions): Runner {
  const request = neon(url)
  return {
    run: async <Row, Args>(statement: Statement<Row, Args>, args: Args): Promise<Row[]> => {
      const { text, parameters } = render(statement.fragment, schema)
      const fetchOptions = { signal: AbortSignal.timeout(queryTimeoutMs) }
      try {
        return (await request.query(text, bind(parameters, args), { types, fetchOptions })) as Row[]
      } catch (error) {
        throw judged(error)
      }
    },
  }
}

/** Names what the driver says in words alone: a request that was given up, and one that got no answer. */
function judged(error: unknown): unknown {
  if (!(error instanceof NeonDbError) || error.code !== undefined) return error
  const isTimeout = error.sourceError?.name === 'TimeoutError'
  const isRefused = /password authentication failed/.test(error.message)
  return Object.assign(error, { code: isTimeout ? clientTimeoutCode : isRefused ? '28P01' : 'ECONNRESET' })
}
