import { quoteIdentifier, quoteLiteral } from '../sql/statement.ts'
import type { ScriptConnection } from './driver-connection.ts'
import type { MigrationFile } from './migration-files.ts'
import { type Backend, backendColumns, lockedBy, polled } from './migration-lock.ts'
import { runStatements } from './run-statements.ts'

/** Whoever interferes with a build does so by chance; by the third time it is no chance. */
const buildTries = 3

/**
 * Runs a file outside a transaction, while the caller's connection holds the migration lock:
 *
 *     holder   begin, lock ─ idle, without a snapshot ──────────────────── its row → commit
 *     builder     no build under way? → drop what is invalid → statements → is all valid? → close
 *
 * A build waits for every transaction that may not see its index. The holder is none of them: it is read
 * committed and sits between two statements. The builder is a connection of its own, since to wait for as
 * long as it takes is a setting of its session; nobody else gets the session after it.
 */
export async function buildMigration(
  holder: ScriptConnection,
  builder: ScriptConnection,
  file: MigrationFile,
  lockWaitMs: number,
): Promise<void> {
  await holder.script(`select set_config(name, '0', true) from pg_settings
    where name in ('idle_in_transaction_session_timeout', 'transaction_timeout')`)
  await waitWithoutEnd(builder)
  for (let tries = 1; tries <= buildTries; tries++) {
    await untilNothingBuilds(builder, lockWaitMs)
    for (const index of await invalidIndexes(builder, file)) {
      await builder.script(
        `drop index concurrently ${quoteIdentifier(builder.schema)}.${quoteIdentifier(index)}`,
      )
    }
    await runStatements(builder, file)
    // "if not exists" skips an index that somebody else's build left invalid in the meantime.
    if ((await invalidIndexes(builder, file)).length === 0) return
  }
  throw new Error(`the indexes ${file.indexes.join(', ')} stay invalid, however often they are built`)
}

/** A build waits for transactions of others; the limits that a role or a database sets are for other work. */
async function waitWithoutEnd(builder: ScriptConnection): Promise<void> {
  const limits = (await builder.script(`select name from pg_settings
    where name in ('lock_timeout', 'statement_timeout', 'transaction_timeout') and setting <> '0'`)) as {
    name: string
  }[]
  // Only what is limited is set: behind a pooler that was taken for a direct address, even that would stay.
  for (const { name } of limits) await builder.script(`set ${name} = 0`)
}

/**
 * The backend of a killed migrator builds on, and its work is worth waiting for. To drop its index meanwhile
 * would wait for its lock, and it for our snapshot.
 */
async function untilNothingBuilds(builder: ScriptConnection, lockWaitMs: number): Promise<void> {
  let building: Backend | undefined
  const isFree = async () => {
    ;[building] = (await builder.script(`select ${backendColumns}
      from pg_stat_progress_create_index p
      join pg_stat_activity a using (pid)
      join pg_class c on c.oid = p.relid and p.datname = current_database()
      where c.relnamespace = to_regnamespace(${quoteLiteral(quoteIdentifier(builder.schema))})
      limit 1`)) as Backend[]
    return building === undefined
  }
  await polled(isFree, lockWaitMs, async () => lockedBy('an index is still being built', building))
}

/** What an interrupted build left: an index that every write must keep and no statement reads. */
async function invalidIndexes(builder: ScriptConnection, file: MigrationFile): Promise<string[]> {
  const names = file.indexes.map(quoteLiteral).join(', ')
  const rows = (await builder.script(`select c.relname as name
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = to_regnamespace(${quoteLiteral(quoteIdentifier(builder.schema))})
      and not i.indisvalid and c.relname in (${names || 'null'})
    order by c.relname`)) as { name: string }[]
  return rows.map(({ name }) => name)
}
