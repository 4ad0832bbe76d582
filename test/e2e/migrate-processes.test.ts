import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrationFiles } from '../../shared/db/migration-files.ts'
import { openDatabase, type TestDatabase } from '../support/database.ts'
import { startTaskq } from './cli-process.ts'

const processesCount = 10
const everyFile = migrationFiles().map(({ file }) => file)

let database: TestDatabase

beforeEach(async () => {
  database = await openDatabase()
  await database.rows('drop schema taskq cascade')
})
afterEach(() => database.close())

const start = () => startTaskq(['migrate', '--json'], { env: { TASKQ_DATABASE_URL: database.url } })

/** Backends of the command that match. */
const backends = (where = 'true') =>
  database.rows<{ pid: number }>(`select pid from pg_stat_activity
    where application_name = 'taskq-cli' and datname = current_database() and ${where}`)

/** Keeps whoever creates the table of jobs busy, in a statement that runs, until the gate is opened. */
async function closeGate(): Promise<() => Promise<unknown>> {
  await database.rows(`create table public.gate ();
    create function public.wait_at_gate() returns event_trigger language plpgsql as $$
    begin
      if exists (select from pg_event_trigger_ddl_commands() where object_identity = 'taskq.jobs') then
        while not exists (select from public.gate) loop perform pg_sleep(0.02); end loop;
      end if;
    end $$;
    create event trigger gate on ddl_command_end execute function public.wait_at_gate()`)
  return () => database.rows('insert into public.gate default values')
}

test('ten processes migrate an empty database: each file once, and all succeed (PEERS 69)', async () => {
  const ended = await Promise.all(Array.from({ length: processesCount }, () => start().ended))
  expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    ended.map(() => ({ code: 0, stderr: '' })),
  )
  const applied = ended.flatMap(({ json }) => json['applied'] as string[])
  expect(applied.toSorted()).toEqual(everyFile)
})

test('one that is killed in the middle of a statement lets the others proceed (PEERS 69)', async () => {
  const open = await closeGate()
  const first = start()
  const isAtGate = `state = 'active' and query like 'create table%.jobs (%'`
  await expect.poll(() => backends(isAtGate), { timeout: 30_000 }).toHaveLength(1)
  const [victim] = await backends(isAtGate)
  const others = Array.from({ length: 3 }, start)
  await expect.poll(() => backends(), { timeout: 30_000 }).toHaveLength(4)

  first.child.kill('SIGKILL')
  // Its statement is still running; the server notices by itself that nobody waits for it.
  await expect.poll(() => backends(`pid = ${victim?.pid}`), { timeout: 30_000 }).toEqual([])
  await open()
  const ended = await Promise.all(others.map(each => each.ended))
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(ended.flatMap(({ json }) => json['applied'] as string[]).toSorted()).toEqual(everyFile)
  expect(await first.ended).toMatchObject({ signal: 'SIGKILL' })
})
