import pg from 'pg'
import {
  type ConnectOptions,
  clientConfig,
  connectDriver,
  type DriverClient,
  type ScriptConnection,
  typesOver,
} from './driver-connection.ts'

const types = typesOver((oid, format) => pg.types.getTypeParser(oid, format as 'text'))

/** Opens one connection over TCP. The caller closes it, in a `finally`. */
export function connectPg(options: ConnectOptions): Promise<ScriptConnection> {
  const client = new pg.Client({ ...clientConfig(options), types: types as pg.CustomTypesConfig })
  return connectDriver(client as unknown as DriverClient, options)
}
