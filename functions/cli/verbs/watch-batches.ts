import type { ScriptConnection } from '../../../shared/db/driver-connection.ts'
import type { Statement } from '../../../shared/sql/statement.ts'
import type { BatchRow, Routine, Sweep } from '../../../shared/sweeper/define.ts'

/** Tells of every batch that a run has sent over a connection: what it changed is in the answer anyway. */
export function watchBatches(
  connection: ScriptConnection,
  routine: Routine | Sweep,
  onBatch: (rows: number) => void,
): ScriptConnection {
  const run = connection.run.bind(connection)
  connection.run = async <Row, Args>(statement: Statement<Row, Args>, args: Args): Promise<Row[]> => {
    const rows = await run(statement, args)
    if ('arms' in routine && routine.arms.some(arm => (arm.batch as unknown) === statement))
      onBatch((rows as BatchRow[])[0]?.acted ?? 0)
    return rows
  }
  return connection
}
