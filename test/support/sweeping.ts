import { readSettings, type Settings, writeSettings } from '../../shared/core/read-settings.ts'
import type { Connection } from '../../shared/sql/connection.ts'
import type { Runnable } from '../../shared/sweeper/invocation.ts'
import type { RunPorts, RunRequest } from '../../shared/sweeper/ports.ts'
import type { RunResult } from '../../shared/sweeper/result.ts'
import { run } from '../../shared/sweeper/run.ts'
import type { TestDatabase } from './database.ts'

/** The defaults, with some changed. */
export function settingsWith(changed: Partial<Settings> = {}): Settings {
  return readSettings(writeSettings(changed))
}

/** Ports of a run in a test: real connections, ten minutes' time, and sleeps that take none. */
export function portsOn(database: TestDatabase, changed: Partial<RunPorts> = {}): RunPorts {
  return {
    connect: () => database.connect(),
    nowMs: () => performance.now(),
    sleep: () => Promise.resolve(),
    remainingMs: () => 600_000,
    signal: new AbortController().signal,
    ...changed,
  }
}

export interface SweepOptions {
  readonly settings?: Partial<Settings>
  readonly request?: Partial<RunRequest>
  readonly ports?: Partial<RunPorts>
}

/** Runs a function by hand, as `taskq run` does. */
export async function sweepOnce(
  database: TestDatabase,
  runnable: Runnable,
  { settings = {}, request = {}, ports = {} }: SweepOptions = {},
): Promise<RunResult> {
  const asked: RunRequest = { trigger: 'manual', settings: settingsWith(settings), ...request }
  return (await run(runnable, asked, portsOn(database, ports))) as RunResult
}

/** A connection whose every call a test sees before it goes out, and may fail or delay. */
export function watched(
  connection: Connection,
  before: (step: string, args: readonly unknown[]) => Promise<void> | void,
): Connection {
  return new Proxy(connection, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return async (...args: unknown[]) => {
        await before(String(name), args)
        return Reflect.apply(value, target, args)
      }
    },
  })
}

/**
 * A connection whose backend a test ends before the nth call of all goes out. Found by name, because behind
 * a pooler it changes from transaction to transaction, and between them there may be none.
 */
export async function killedBefore(
  database: TestDatabase,
  nth: number,
  calls: { made: number },
): Promise<Connection> {
  const applicationName = 'to-be-ended'
  return watched(await database.connect({ applicationName }), async step => {
    calls.made += 1
    if (step === 'close' || calls.made !== nth) return
    await database.rows(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
       where application_name = $1 and datname = current_database()`,
      [applicationName],
    )
  })
}
