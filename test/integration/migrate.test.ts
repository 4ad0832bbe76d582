import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { lockName } from '../../shared/core/names.ts'
import type { ScriptConnection } from '../../shared/db/driver-connection.ts'
import { type MigrateOptions, migrate as migrateWith, migrationStatus } from '../../shared/db/migrate.ts'
import { migrationFile, migrationFiles } from '../../shared/db/migration-files.ts'
import { openDatabase, type TestDatabase } from '../support/database.ts'
import { nobody } from '../support/migrating.ts'

const file = (version: number, name: string, sql: string) =>
  migrationFile(`${String(version).padStart(4, '0')}_${name}.sql`, sql)

/** Migrates the schema of a connection; builds run on another of the same database. */
const migrate = (
  database: TestDatabase,
  connection: ScriptConnection,
  options: Omit<MigrateOptions, 'openSecond'>,
) =>
  migrateWith(connection, { ...options, openSecond: () => database.connect({ schema: connection.schema }) })

function inDatabase(name: string, check: (database: TestDatabase) => Promise<void>): void {
  it(name, async () => {
    const database = await openDatabase()
    await check(database).finally(() => database.close())
  })
}

describe('migrate', () => {
  inDatabase('makes a second schema beside the first, and does nothing the second time', async database => {
    const connection = await database.connect({ schema: 'taskq_staging' })
    const first = await migrate(database, connection, { installation: nobody })
    expect(first.applied).toHaveLength(migrationFiles().length)
    expect(await migrate(database, connection, { installation: nobody })).toMatchObject({ applied: [] })
    expect((await migrationStatus(connection)).every(({ appliedAt }) => appliedAt !== null)).toBe(true)
    const [counts] =
      await database.rows(`select (select count(*)::int from taskq_staging.installation) as rows,
      (select count(*)::int from taskq_staging.sweep_state) as functions`)
    expect(counts).toEqual({ rows: 1, functions: 1 })
  })

  it('run ten times at once, migrates once, and all ten succeed', async () => {
    const database = await openDatabase()
    const connections = await Promise.all(
      Array.from({ length: 10 }, () => database.connect({ schema: 'taskq_race' })),
    )
    const reports = await Promise.all(
      connections.map(one => migrate(database, one, { installation: nobody })),
    )
    expect(reports.flatMap(report => report.applied).toSorted()).toEqual(
      reports.flatMap(r => r.applied).toSorted(),
    )
    expect(reports.flatMap(report => report.applied)).toHaveLength(migrationFiles().length)
    await database.close()
  })

  it('leaves the schema as it was where a file fails, and names the file and the next step', async () => {
    const database = await openDatabase()
    const connection = await database.connect({ schema: 'taskq_bad' })
    const bad = file(99, 'bad', 'create table {schema}.half (); select 1 / 0')
    const files = [...migrationFiles(), bad]
    await expect(migrate(database, connection, { installation: nobody, files })).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
      message: expect.stringMatching(
        /0099_bad\.sql: statement 2 of 2, line 1 .*: division by zero.*rolled back.*again/,
      ),
    })
    expect(await database.rows(`select to_regclass('taskq_bad.half') as found`)).toEqual([{ found: null }])
    await database.close()
  })

  it('names the line at which the server found the fault, and quotes how the statement begins', async () => {
    const database = await openDatabase()
    const long = 'x'.repeat(90)
    const text = `-- A file.\nselect 1;\n\nselect id,\n  nothing -- ü\nfrom {schema}.jobs where '${long}'`
    const failing = migrate(database, await database.connect(), {
      installation: nobody,
      files: [...migrationFiles(), file(99, 'bad', text)],
    })
    await expect(failing).rejects.toThrow(
      /^0099_bad\.sql: statement 2 of 2, line 5 \(select id, nothing -- ü from \{schema\}.jobs .*x…\): col/,
    )
    await database.close()
  })

  it('refuses a file that was changed after it was applied (B196)', async () => {
    const database = await openDatabase()
    const connection = await database.connect()
    const files = migrationFiles().map(each => ({ ...each, checksum: 'other' }))
    await expect(migrate(database, connection, { installation: nobody, files })).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
      message: expect.stringContaining('changed after it was applied'),
    })
    await database.close()
  })

  it('leaves a schema alone that is newer than its files', async () => {
    const database = await openDatabase()
    const connection = await database.connect()
    const newer = [...migrationFiles(), file(99, 'newer', 'create table {schema}.newer ()')]
    await migrate(database, connection, { installation: nobody, files: newer })
    expect(await migrate(database, connection, { installation: nobody })).toMatchObject({ applied: [] })
    const [row] = await database.rows('select schema_version from taskq.installation')
    expect(row).toEqual({ schema_version: 99 })
    await database.close()
  })

  it('names the holder of its lock after waiting for it, and never queues', async () => {
    const database = await openDatabase()
    const holder = await database.client()
    await holder.query('begin')
    await holder.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
      lockName('migrate', 'taskq'),
    ])
    const connection = await database.connect()
    await expect(
      migrate(database, connection, { installation: nobody, lockWaitMs: 0 }),
    ).rejects.toMatchObject({
      code: 'MIGRATION_LOCKED',
      message: expect.stringMatching(/backend \d+/),
    })
    await database.close()
  })

  it('writes the pins once, and refuses another installation by name (C29)', async () => {
    const database = await openDatabase()
    const connection = await database.connect({ schema: 'taskq_pins' })
    const [mine, other] = [randomUUID(), randomUUID()]
    await migrate(database, connection, {
      installation: { ...nobody, installationId: mine, environment: 'production' },
    })
    for (const pins of [{ installationId: other }, { environment: 'staging' }]) {
      const files = [...migrationFiles(), file(99, 'newer', 'create table {schema}.newer ()')]
      const installation = { ...nobody, ...pins }
      await expect(migrate(database, connection, { installation, files })).rejects.toMatchObject({
        code: 'WRONG_TARGET',
      })
    }
    expect(await database.rows(`select to_regclass('taskq_pins.newer') as made`)).toEqual([{ made: null }])
    const adopt = migrate(database, connection, { installation: { ...nobody, installationId: other } })
    await expect(adopt).rejects.toThrow(`set the prop installationId to "${mine}"`)
    await database.close()
  })

  it('names the environment of an installation that was made by hand', async () => {
    const database = await openDatabase()
    const connection = await database.connect()
    await migrate(database, connection, { installation: { ...nobody, environment: 'production' } })
    expect(await database.rows('select environment from taskq.installation')).toEqual([
      { environment: 'production' },
    ])
    await database.close()
  })

  it('a new deployment clears a latched breaker, the same one does not', async () => {
    const database = await openDatabase()
    const connection = await database.connect()
    const latched = async () =>
      (
        await database.rows(`select latched_at is not null as latched from taskq.sweep_state
        where function = 'promotion'`)
      )[0]
    const deploy = (deploymentId: string) =>
      migrate(database, connection, { installation: { ...nobody, deploymentId } })
    await deploy('one')
    await database.rows('update taskq.sweep_state set latched_at = now()')
    await deploy('one')
    expect(await latched()).toEqual({ latched: true })
    await deploy('two')
    expect(await latched()).toEqual({ latched: false })
    await database.close()
  })
})
