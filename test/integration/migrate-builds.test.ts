import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { migrate, prebuild } from '../../shared/db/migrate.ts'
import { openDatabase, type TestDatabase } from '../support/database.ts'
import { indexFile, laterFile, migrateTo, nobody, optionsFor } from '../support/migrating.ts'

let database: TestDatabase

beforeEach(async () => {
  database = await openDatabase()
})
afterEach(() => database.close())

const extra = indexFile(90, 'jobs_extra', 'jobs (tags)')

const indexes = () =>
  database.rows<{ oid: number; valid: boolean }>(`select indexrelid::int as oid, indisvalid as valid
    from pg_index where indexrelid = to_regclass('taskq.jobs_extra')`)

const recorded = async () => {
  const rows = await database.rows<{ version: number }>(
    `select version from taskq.schema_migrations
     where not transactional and version >= 90 order by version`,
  )
  return rows.map(({ version }) => version)
}

/** A transaction that wrote to jobs and does not end: every build on jobs waits for it. */
async function openTransaction() {
  const writer = await database.client()
  await writer.query(`begin; insert into taskq.jobs (actor) values ('test')`)
  return { end: () => writer.query('commit') }
}

/** How long a build has been waiting, by the database's clock. */
const waitedSeconds = async () => {
  const [row] = await database.rows<{ seconds: number }>(`
    select extract(epoch from clock_timestamp() - query_start)::float8 as seconds
    from pg_stat_progress_create_index join pg_stat_activity a using (pid)
    where phase = 'waiting for writers before build' and a.datname = current_database()`)
  return row?.seconds ?? 0
}
const untilABuildWaits = () => expect.poll(waitedSeconds, { timeout: 20_000 }).toBeGreaterThan(0)

describe('a file outside a transaction', () => {
  it('is run, recorded as what it is, and not run again', async () => {
    const report = await migrateTo(database, [extra])
    expect(report.applied).toEqual(['0090_jobs_extra.sql'])
    expect(await indexes()).toMatchObject([{ valid: true }])
    expect(await recorded()).toEqual([90])
    expect(await migrateTo(database, [extra])).toMatchObject({ applied: [] })
  })

  it('is refused by name where no second connection can be opened', async () => {
    const { files, installation } = optionsFor(database, [extra])
    const connection = await database.connect()
    await expect(migrate(connection, { files: files ?? [], installation })).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
      field: 'openSecond',
      message: expect.stringContaining('0090_jobs_extra.sql'),
    })
    expect(await indexes()).toEqual([])
  })

  it('waits for a long transaction beyond every limit of its login, while a peer polls (B192)', async () => {
    const writer = await openTransaction()
    await database.rows(`do $$ begin
      execute format('alter database %I set lock_timeout = 100', current_database());
      execute format('alter database %I set statement_timeout = 300', current_database());
      execute format('alter database %I set idle_in_transaction_session_timeout = 300', current_database());
      if current_setting('server_version_num')::int >= 170000 then
        execute format('alter database %I set transaction_timeout = 500', current_database());
      end if;
    end $$`)
    const both = Promise.all([migrateTo(database, [extra]), migrateTo(database, [extra])])
    await expect.poll(waitedSeconds, { timeout: 20_000 }).toBeGreaterThan(1.5)
    await writer.end()
    const applied = (await both).flatMap(report => report.applied)
    expect(applied).toEqual(['0090_jobs_extra.sql'])
    expect(await indexes()).toMatchObject([{ valid: true }])
  })

  it('leaves no setting behind on the connection that it was given', async () => {
    const connection = await database.connect()
    const settings = () =>
      connection.script(`select name, setting from pg_settings where name ~ 'timeout|interval' order by name`)
    const before = await settings()
    await migrate(connection, optionsFor(database, [extra]))
    expect(await settings()).toEqual(before)
  })
})

describe('an interrupted build', () => {
  it('leaves an invalid index, which the next run drops and builds again (B193)', async () => {
    const writer = await openTransaction()
    const interrupted = migrateTo(database, [extra])
    const refusal = expect(interrupted).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
      message: expect.stringMatching(
        /^0090_jobs_extra\.sql: statement 1 of 1, line 3 \(create .*the connection is gone.*migrate again$/,
      ),
    })
    await untilABuildWaits()
    await database.rows(`select pg_terminate_backend(pid) from pg_stat_progress_create_index
      where datname = current_database()`)
    await refusal
    await writer.end()
    const [left] = await indexes()
    expect(left).toMatchObject({ valid: false })
    expect(await recorded()).toEqual([])

    await migrateTo(database, [extra])
    const [rebuilt] = await indexes()
    expect(rebuilt).toMatchObject({ valid: true })
    expect(rebuilt?.oid).not.toBe(left?.oid)
    expect(await recorded()).toEqual([90])
  })

  it('that its server goes on with is waited for, and its work kept', async () => {
    const writer = await openTransaction()
    const orphan = await database.client()
    const built = orphan.query('create index concurrently jobs_extra on taskq.jobs (tags)')
    await untilABuildWaits()
    await expect(migrateTo(database, [extra], { lockWaitMs: 0 })).rejects.toMatchObject({
      code: 'MIGRATION_LOCKED',
      message: expect.stringMatching(/still being built: backend \d+/),
    })
    const [begun] = await indexes()
    const migrated = migrateTo(database, [extra])
    await expect
      .poll(() => database.rows(`select from pg_stat_activity where application_name = 'builder'`))
      .toHaveLength(1)
    await writer.end()
    await built
    await migrated
    expect(await indexes()).toEqual([{ oid: begun?.oid, valid: true }])
  })

  it('that somebody left invalid while the file ran is not taken for built', async () => {
    await database.rows(`create table public.gate ();
      create function public.wait_at_gate() returns void language plpgsql as $$
      begin while not exists (select from public.gate) loop perform pg_sleep(0.02); end loop; end $$`)
    const text = [
      '-- taskq: non-transactional',
      'select public.wait_at_gate();',
      'create index concurrently if not exists jobs_extra on {schema}.jobs (tags)',
    ]
    const migrated = migrateTo(database, [laterFile(90, 'gated', text.join('\n'))])
    const atGate = `select from pg_stat_activity
      where application_name = 'builder' and query ~ '^select public'`
    await expect.poll(() => database.rows(atGate)).toHaveLength(1)
    const meddler = await database.client()
    const meddled = meddler.query('create index concurrently jobs_extra on taskq.jobs (tags)')
    const refusal = expect(meddled).rejects.toThrow()
    // It waits for the one at the gate, which may not see its index.
    await expect.poll(indexes).toMatchObject([{ valid: false }])
    await database.rows(`select pg_terminate_backend(pid) from pg_stat_progress_create_index
      where datname = current_database()`)
    await refusal
    await database.rows('insert into public.gate default values')
    await migrated
    expect(await indexes()).toMatchObject([{ valid: true }])
  })

  it('of a unique index names its statement; once the cause is mended it is built', async () => {
    await database.rows(`insert into taskq.jobs (actor, tags) values ('a', '{x}'), ('b', '{x}')`)
    const text = [
      '-- taskq: non-transactional',
      'create index concurrently if not exists jobs_first on {schema}.jobs (actor);',
      '-- The second.',
      'create unique index concurrently if not exists jobs_extra',
      '  on {schema}.jobs (tags);',
    ]
    const unique = laterFile(90, 'two', text.join('\n'))
    await expect(migrateTo(database, [unique])).rejects.toMatchObject({
      message: expect.stringMatching(
        /^0090_two\.sql: statement 2 of 2, line 4 \(create unique .*: could not create .*the next run/,
      ),
    })
    expect(await indexes()).toMatchObject([{ valid: false }])
    expect(await database.rows(`select to_regclass('taskq.jobs_first') is not null as stands`)).toEqual([
      { stands: true },
    ])
    await database.rows(`delete from taskq.jobs where actor = 'b'`)
    await migrateTo(database, [unique])
    expect(await indexes()).toMatchObject([{ valid: true }])
  })
})

describe('prebuild', () => {
  const column = laterFile(91, 'column', 'alter table {schema}.jobs add column colour text')
  const onColumn = indexFile(92, 'jobs_colour', 'jobs (colour)')
  const files = [extra, column, onColumn]
  const prebuilt = async () => prebuild(await database.connect(), optionsFor(database, files))

  it('runs what needs no transaction, and leaves to the deployment what is not possible yet', async () => {
    expect(await prebuilt()).toEqual({
      schema: 'taskq',
      applied: ['0090_jobs_extra.sql'],
      left: [
        { file: '0092_jobs_colour.sql', reason: expect.stringContaining('column "colour" does not exist') },
      ],
    })
    expect(await prebuilt()).toMatchObject({ applied: [], left: [{ file: '0092_jobs_colour.sql' }] })
    const { applied } = await migrateTo(database, files)
    expect(applied).toEqual(['0091_column.sql', '0092_jobs_colour.sql'])
    expect(await prebuilt()).toMatchObject({ applied: [], left: [] })
  })

  it('leaves everything where nothing is migrated yet', async () => {
    await database.rows('drop schema taskq cascade')
    const { applied, left } = await prebuilt()
    expect(applied).toEqual([])
    const ours = ['0090_jobs_extra.sql', '0092_jobs_colour.sql']
    expect(left.map(({ file }) => file)).toEqual(expect.arrayContaining(ours))
    expect(await database.rows(`select to_regnamespace('taskq') as made`)).toEqual([{ made: null }])
  })

  it('throws any other failure, and refuses another installation', async () => {
    const wrong = indexFile(93, 'jobs_wrong', 'jobs (1 / 0)')
    const connection = await database.connect()
    await expect(prebuild(connection, optionsFor(database, [wrong]))).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
    })
    await migrateTo(database, [], { installation: { ...nobody, environment: 'production' } })
    const installation = { ...nobody, environment: 'staging' }
    await expect(prebuild(connection, optionsFor(database, files, { installation }))).rejects.toMatchObject({
      code: 'WRONG_TARGET',
    })
  })
})
