import { setTimeout as sleep } from 'node:timers/promises'
import { TaskQError } from '../core/errors.ts'
import { lockName } from '../core/names.ts'
import { classify } from '../sql/failures.ts'
import { quoteLiteral } from '../sql/statement.ts'
import type { ScriptConnection } from './driver-connection.ts'

/**
 * A busy table delays a migration, instead of the migration freezing the table: what waits for a table's lock
 * keeps everybody out who comes later. So long nobody notices: an enqueue and a batch wait 250 ms for a lock.
 */
const tableLockTimeoutMs = 100
/** With the pauses between them, a minute. */
const tableLockTries = 150
const pollMs = 200

/**
 * Runs one step in a transaction that holds the migration lock, again where a table was busy.
 *
 *     begin → try the lock, polling → step → commit
 *
 * The lock is tried, never waited for: each try is a transaction that ends at once. One that waited would
 * hold its snapshot, and a concurrent index build waits for its end while it waits for that build's migrator.
 */
export async function locked<T>(
  connection: ScriptConnection,
  lockWaitMs: number,
  step: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    await takeLock(connection, lockWaitMs)
    try {
      const result = await step()
      await connection.commit()
      return result
    } catch (error) {
      await connection.rollback()
      if (classify(error) !== 'transient' || tries === tableLockTries) throw error
      await sleep(pollMs + Math.random() * pollMs)
    }
  }
}

async function takeLock(connection: ScriptConnection, lockWaitMs: number): Promise<void> {
  const lock = quoteLiteral(lockName('migrate', connection.schema))
  const isLocked = async () => {
    const [row] = await connection.script(`begin isolation level read committed read write;
      select set_config('lock_timeout', '${tableLockTimeoutMs}ms', true),
        ${noticeDeath},
        pg_try_advisory_xact_lock(hashtextextended(${lock}, 0)) as locked`)
    if ((row as { locked: boolean }).locked) return true
    await connection.rollback()
    return false
  }
  const holder = () => lockHolder(connection, lock)
  await polled(isLocked, lockWaitMs, async () => lockedBy('another migration holds its lock', await holder()))
}

/**
 * A killed migrator whose statement runs would keep the lock until the statement ends: the server looks for
 * its client only when it has something to send. Some systems cannot look in between, and refuse to be told.
 */
const noticeDeath = `case when version() ~ 'linux|darwin|bsd'
  then set_config('client_connection_check_interval', '1s', true) end`

/** Polls until a condition holds, and throws what is made when it has waited for long enough. */
export async function polled(
  holds: () => Promise<boolean>,
  waitMs: number,
  otherwise: () => Promise<TaskQError>,
): Promise<void> {
  for (let waitedMs = 0; !(await holds()); waitedMs += pollMs) {
    if (waitedMs >= waitMs) throw await otherwise()
    await sleep(pollMs)
  }
}

/** A backend in whose way nobody may stand. */
export interface Backend {
  readonly pid: number
  readonly application_name: string
  readonly client_addr: string | null
  readonly xact_start: string | null
}

/** The columns of a {@link Backend}, out of pg_stat_activity as `a`. */
export const backendColumns = 'a.pid, a.application_name, a.client_addr::text, a.xact_start::text'

async function lockHolder(connection: ScriptConnection, lock: string): Promise<Backend | undefined> {
  const [holder] = (await connection.script(`select ${backendColumns}
    from pg_locks l join pg_stat_activity a using (pid)
    join pg_database d on d.oid = l.database
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and d.datname = current_database()
      and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(${lock}, 0)
    limit 1`)) as Backend[]
  return holder
}

/** Names the backend that was waited for in vain. */
export function lockedBy(what: string, backend: Backend | undefined): TaskQError {
  const { pid, application_name, client_addr, xact_start } = backend ?? {}
  const who =
    pid === undefined
      ? 'a backend that has just gone'
      : `backend ${pid} (${application_name || 'unnamed'}, ${client_addr ?? 'local'}, since ${xact_start})`
  return new TaskQError('MIGRATION_LOCKED', `${what}: ${who}; wait for it, or end it, and migrate again`)
}
