import { setTimeout as sleepFor, setImmediate as turn } from 'node:timers/promises'
import type { RunnableActor } from '../../shared/client/handler.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import type { Connection } from '../../shared/sql/connection.ts'
import type { Statement } from '../../shared/sql/statement.ts'
import { readStatus } from '../../shared/sweeper/status/read-status.ts'
import type { Trouble, WorkerPorts } from '../../shared/worker/ports.ts'
import { type RunningWorker, startWorker } from '../../shared/worker/start-worker.ts'
import type { TestDatabase } from './database.ts'
import { settingsWith } from './sweeping.ts'

/** Sees each statement before it goes out and after it was answered; what it throws ends the connection. */
export interface Interference {
  readonly before?: (name: string) => Promise<void> | void
  readonly after?: (name: string) => Promise<void> | void
}

/** An error as a driver has it when the network ends a connection. */
export const networkFault = () => Object.assign(new Error('connection reset'), { code: 'ECONNRESET' })

function interfered(connection: Connection, { before, after }: Interference): Connection {
  let usable = true
  const run = async <Row, Args>(statement: Statement<Row, Args>, args: Args): Promise<Row[]> => {
    try {
      await before?.(statement.name)
      const rows = await connection.run(statement, args)
      await after?.(statement.name)
      return rows
    } catch (error) {
      if ((error as { code?: string }).code === 'ECONNRESET') usable = false
      throw error
    }
  }
  return new Proxy(connection, {
    get: (target, name) => {
      if (name === 'run') return run
      if (name === 'usable') return usable && target.usable
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Real ports, over connections that a test may break. */
export function faultyPorts(
  database: TestDatabase,
  interference: Interference,
  troubles: Trouble[] = [],
): WorkerPorts {
  return {
    connect: async queryTimeoutMs => interfered(await database.connect({ queryTimeoutMs }), interference),
    nowMs: () => performance.now(),
    sleep: async (ms, signal) => {
      await sleepFor(Math.max(0, ms), undefined, signal ? { signal } : {}).catch(() => undefined)
    },
    turn: () => turn(),
    report: trouble => troubles.push(trouble),
  }
}

/** Reads the status over connections that nobody interferes with. */
export function statusOf(database: TestDatabase, settings: Settings) {
  return () => readStatus({ settings, expected: [], connect: () => database.connect() })
}

/** A worker over such ports. */
export function faultyWorker(
  database: TestDatabase,
  actors: readonly RunnableActor[],
  interference: Interference,
  changed: Partial<Settings> = {},
): { worker: RunningWorker; troubles: Trouble[] } {
  const troubles: Trouble[] = []
  const settings = settingsWith({ pollInterval: 50, softStopTimeout: 500, ...changed })
  const place = { hostname: 'test', name: 'faulty' }
  const ports = { ...faultyPorts(database, interference, troubles), readStatus: statusOf(database, settings) }
  const worker = startWorker(ports, settings, { actors }, place)
  return { worker, troubles }
}
