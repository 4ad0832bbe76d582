import { clientOn, type TaskQClient } from '../../shared/client/client.ts'
import { connectionSet } from '../../shared/client/connections.ts'
import { jobIds } from '../../shared/client/job-id.ts'
import { type Connection, type Queryable, runOn } from '../../shared/sql/connection.ts'
import type { Statement } from '../../shared/sql/statement.ts'
import { settingsWith } from './sweeping.ts'

/** A client whose statements all go through one function of a test's. */
export function clientOver(queryable: Queryable): TaskQClient {
  const connection = {
    schema: 'taskq',
    usable: true,
    run: <Row, Args>(statement: Statement<Row, Args>, args: Args) =>
      runOn(queryable, 'taskq', statement, args),
    close: async () => undefined,
  } as unknown as Connection
  const nowMs = () => performance.timeOrigin + performance.now()
  const connections = connectionSet({ connect: async () => connection, nowMs }, 1)
  return clientOn({ connections, newJobId: jobIds(nowMs) }, settingsWith())
}
