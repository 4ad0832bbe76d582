import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { databaseRoles, roleName } from '../../../shared/core/names.ts'
import { migrate } from '../../../shared/db/migrate.ts'
import { migrationFiles } from '../../../shared/db/migration-files.ts'
import type { BatchOpening } from '../../../shared/sql/connection.ts'
import { routines } from '../../../shared/sweeps/index.ts'
import { promotion } from '../../../shared/sweeps/promotion.ts'
import { openDatabase, type TestDatabase, useDatabase } from '../../support/database.ts'
import { insertJobs, scheduledJob } from '../../support/jobs.ts'
import { type Login, makeLogin } from '../../support/logins.ts'
import { settingsWith, sweepOnce } from '../../support/sweeping.ts'

const database = useDatabase()
const opening: BatchOpening = {
  lock: null,
  statementTimeoutMs: 5000,
  lockTimeoutMs: 1000,
  idleTimeoutMs: 5000,
  transactionTimeoutMs: 6000,
  target: { installationId: undefined, environment: undefined },
}
const purposes = routines.map(sweep => sweep.purpose)
const pins = { installationId: undefined, environment: undefined, deploymentId: undefined, purposes }

describe('a batch', () => {
  const who = async (role: string) => {
    const connection = await database().connect()
    const ask = async () =>
      ((await connection.script('select current_user as is')) as { is: string }[])[0]?.is
    await connection.openBatch({ ...opening, role })
    const inside = await ask()
    await connection.chainBatch({ ...opening, role })
    const chained = await ask()
    await connection.commit()
    return { inside, chained, outside: await ask() }
  }

  it('assumes its role in each transaction, and in no other', async () => {
    const outside = 'postgres'
    expect(await who('taskq_maintenance')).toEqual({
      inside: 'taskq_maintenance',
      chained: 'taskq_maintenance',
      outside,
    })
  })

  it('stays the login where there is no such role', async () => {
    expect(await who('nobody_has_this')).toEqual({
      inside: 'postgres',
      chained: 'postgres',
      outside: 'postgres',
    })
  })
})

describe('migrate, as a login that owns its database', () => {
  const ends: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })

  /** A login, a database of its own for it, and a prefix that nobody has. */
  async function owner(attributes: string): Promise<{ login: Login; own: TestDatabase; rolePrefix: string }> {
    const own = await openDatabase()
    ends.push(() => own.close())
    const login = await makeLogin(own, attributes)
    const rolePrefix = `r_${randomBytes(6).toString('hex')}`
    ends.push(async () => {
      for (const name of names(rolePrefix)) {
        const [found] = await own.rows('select from pg_roles where rolname = $1', [name])
        if (found !== undefined) await own.rows(`drop owned by ${name}; drop role ${name}`)
      }
      await login.drop()
    })
    await own.rows('drop schema taskq cascade')
    await own.rows(
      `do $$ begin
        execute format('grant create on database %I to ${login.name}', current_database()); end $$`,
    )
    return { login, own, rolePrefix }
  }
  const names = (rolePrefix: string) =>
    databaseRoles.map(part => roleName({ schemaName: 'taskq', rolePrefix }, part))

  it('makes the roles, which it may assume without having their rights by itself', async () => {
    const { login, own, rolePrefix } = await owner('createrole')
    const report = await migrate(await login.connect(), {
      installation: { ...pins, rolePrefix },
      openSecond: () => login.connect(),
    })
    expect(report).toMatchObject({ roles: 'settled' })
    await insertJobs(own, scheduledJob({ due: true }), 3)
    const ports = { connect: () => login.connect() }
    expect(await sweepOnce(own, promotion, { settings: { rolePrefix }, ports })).toMatchObject({ rows: 3 })
    if (own.version < 16) return
    const memberships = await own.rows<{ role: string }>(
      `select roleid::regrole::text as role from pg_auth_members
       where member = '${login.name}'::regrole and set_option and not inherit_option order by 1`,
    )
    expect(memberships.map(({ role }) => role)).toEqual(names(rolePrefix).sort())
  })

  it('goes without them where it may not make them, and everything runs as before', async () => {
    const { login, own, rolePrefix } = await owner('')
    const report = await migrate(await login.connect(), {
      installation: { ...pins, rolePrefix },
      openSecond: () => login.connect(),
    })
    expect(report).toMatchObject({ roles: 'skipped', applied: migrationFiles().map(() => expect.anything()) })
    await insertJobs(own, scheduledJob({ due: true }), 3)
    const ports = { connect: () => login.connect() }
    expect(await sweepOnce(own, promotion, { settings: { rolePrefix }, ports })).toMatchObject({ rows: 3 })
  })

  it('gives the grants on roles that an administrator made for it', async () => {
    const { login, own, rolePrefix } = await owner('')
    for (const name of names(rolePrefix)) await own.rows(`create role ${name}`)
    const report = await migrate(await login.connect(), {
      installation: { ...pins, rolePrefix },
      openSecond: () => login.connect(),
    })
    expect(report).toMatchObject({ roles: 'settled' })
    const member = await makeLogin(own, `in role ${names(rolePrefix)[2]}`)
    ends.push(() => member.drop())
    await insertJobs(own, scheduledJob({ due: true }), 3)
    const ports = { connect: () => member.connect() }
    expect(await sweepOnce(own, promotion, { settings: { rolePrefix }, ports })).toMatchObject({ rows: 3 })
  })
})

describe('migrate again', () => {
  const acl = async (own: TestDatabase) =>
    (
      await own.rows(
        `select relacl::text as acl, xmin::text from pg_class where oid = 'taskq.jobs'::regclass`,
      )
    )[0]

  it('takes back what was granted by hand, restores what was taken, and else writes nothing', async () => {
    const own = await openDatabase()
    const before = await acl(own)
    const connection = await own.connect()
    await migrate(connection, { installation: pins })
    expect(await acl(own)).toEqual(before)
    await own.rows(
      'grant delete on taskq.jobs to taskq_client; revoke select on taskq.jobs from taskq_worker',
    )
    await migrate(connection, { installation: pins })
    const rights = await own.rows(`select has_table_privilege('taskq_client', 'taskq.jobs', 'delete') as more,
      has_table_privilege('taskq_worker', 'taskq.jobs', 'select') as less`)
    expect(rights).toEqual([{ more: false, less: true }])
    await own.close()
  })

  it('leaves the roles of a newer schema as they are', async () => {
    const own = await openDatabase()
    await own.rows('update taskq.installation set schema_version = 999')
    await own.rows('grant delete on taskq.jobs to taskq_client')
    expect(await migrate(await own.connect(), { installation: pins })).toMatchObject({ roles: 'left' })
    const [row] = await own.rows(`select has_table_privilege('taskq_client', 'taskq.jobs', 'delete') as more`)
    expect(row).toEqual({ more: true })
    await own.close()
  })
})

it('a role’s name follows the schema’s, or its prefix', () => {
  expect(roleName(settingsWith(), 'client')).toBe('taskq_client')
  expect(roleName(settingsWith({ schemaName: 'jobs', rolePrefix: 'acme' }), 'reader')).toBe('acme_reader')
})
