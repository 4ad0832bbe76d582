import type { Settings } from '../../core/read-settings.ts'
import type { QueueStatus, SnapshotStatus, Status } from '../../core/status.ts'
import type { Connection } from '../../sql/connection.ts'
import type { Statement } from '../../sql/statement.ts'
import { gaugeArgs } from '../gauge.ts'
import { oldestSnapshot } from '../gauges/database.ts'
import { feedHorizonLag } from '../gauges/feed.ts'
import { Reader } from '../reader.ts'
import type { Expected } from '../scheduled.ts'
import type { Session } from '../session.ts'
import { functionStatus } from './function-status.ts'
import { judged } from './judged.ts'
import { readFunctions, readQueues, readSchedules, readWorkers } from './statements.ts'

/** The bound of each statement; a reader of a status has a few. */
export const statusTimeoutMs = 5000

/** What a status is read for and with. */
export interface StatusRequest {
  readonly settings: Settings
  /** The functions that keep a state, and what is expected of them. */
  readonly expected: readonly Expected[]
  readonly connect: () => Promise<Connection>
  /** Of each statement; {@link statusTimeoutMs} where absent. */
  readonly statementTimeoutMs?: number
}

/**
 * Reads how a queue is, as the role `reader` where the login may assume it. Each part is read by itself: what
 * this login may not read is null. Where nothing at all can be read the first error is thrown, as are a
 * connection that cannot be had and the wrong target.
 *
 * @example
 * const status = await readStatus({ settings, expected: expectedOf(sweeps, settings), connect })
 * if (!status.healthy) console.error(status.reasons)
 */
export async function readStatus(request: StatusRequest): Promise<Status> {
  const { settings, expected, connect, statementTimeoutMs = statusTimeoutMs } = request
  const session: Session = { connection: await connect(), connect }
  try {
    const parts = new Parts(new Reader(session, { settings, statementTimeoutMs }))
    const functions = await parts.read('functions', readFunctions)
    const queues = await parts.read('queues', readQueues)
    const schedules = await parts.read('schedules', readSchedules)
    const feed = await parts.read('feed', feedHorizonLag.statement)
    const snapshot = await parts.read('oldestSnapshot', oldestSnapshot.statement, null)
    const workers = await parts.read('workers', readWorkers)
    parts.refuseNothing()
    const lag = feed?.[0]
    return judged(settings.schemaName, parts.unread, {
      functions: functions?.map(row => functionStatus(row, expectedBy(expected, row.function))) ?? null,
      queues: queues?.map(queueStatus) ?? null,
      schedules,
      feed: lag === undefined ? null : { horizonLagSeconds: lag.value },
      oldestSnapshot: snapshotStatus(snapshot?.[0]),
      workers,
    })
  } finally {
    await session.connection.close()
  }
}

const expectedBy = (expected: readonly Expected[], name: string) =>
  expected.find(({ purpose }) => purpose === name)

function queueStatus(row: NonNullable<(typeof readQueues)['_row']>): QueueStatus {
  const { pending, scheduled, running, ...rest } = row
  return { ...rest, counts: { pending, scheduled, running } }
}

function snapshotStatus(
  row: NonNullable<(typeof oldestSnapshot.statement)['_row']> | undefined,
): SnapshotStatus | null {
  return row === undefined ? null : { ageSeconds: row.value, holder: row.worst[0] ?? null }
}

/** The parts of one status: each is its rows, or null and a sentence that says why. */
class Parts {
  readonly unread: string[] = []
  readonly #reader: Reader
  #firstError: unknown
  #count = 0

  constructor(reader: Reader) {
    this.#reader = reader
  }

  async read<Row, Args>(
    part: string,
    statement: Statement<Row, Args>,
    role: 'reader' | null = 'reader',
  ): Promise<readonly Row[] | null> {
    this.#count += 1
    const args = gaugeArgs({ functions: [], staleAfterSeconds: [] }) as Args
    const answered = await this.#reader.read(statement, args, role)
    if ('rows' in answered) return answered.rows
    const { error } = answered
    if (this.unread.length === 0) this.#firstError = error
    this.unread.push(`${part}: cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    return null
  }

  /** Where no part can be read, it is no part's fault. */
  refuseNothing(): void {
    if (this.unread.length === this.#count) throw this.#firstError
  }
}
