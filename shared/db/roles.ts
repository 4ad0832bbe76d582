import { type DatabaseRole, databaseRoles, roleName } from '../core/names.ts'
import { quoteIdentifier, quoteLiteral } from '../sql/statement.ts'
import type { ScriptConnection } from './driver-connection.ts'

type Privilege = 'select' | 'insert' | 'update' | 'delete'
type Grants = Readonly<Record<string, readonly Privilege[]>>

/**
 * What the code path of each role needs, by table, and nothing else. A login that works and enqueues is a
 * member of both. The reader may read everything; the owner of the schema, who migrates, needs no grant.
 * What the release before needs stays for one release, as a column would.
 */
const grants: Readonly<Record<Exclude<DatabaseRole, 'reader'>, Grants>> = {
  client: {
    installation: ['select'],
    actors: ['select', 'insert'],
    jobs: ['select', 'insert', 'update'],
    jobs_archive: ['select'],
    job_events: ['select', 'insert'],
    operator_audit: ['insert'],
    schedules: ['select', 'insert', 'update'],
    schedule_revisions: ['select', 'insert'],
    schedule_occurrences: ['select', 'insert'],
    schedule_decisions: ['select', 'insert'],
  },
  worker: {
    installation: ['select'],
    actors: ['select'],
    queues: ['select', 'insert', 'update'],
    workers: ['select', 'insert', 'update', 'delete'],
    jobs: ['select', 'update'],
    job_attempts: ['select', 'insert'],
    job_events: ['select', 'insert'],
    // What its health says of the queue.
    schedules: ['select'],
    sweep_state: ['select'],
    sweep_quarantine: ['select'],
  },
  maintenance: {
    installation: ['select'],
    sweep_state: ['select', 'insert', 'update'],
    sweep_quarantine: ['select', 'insert', 'update', 'delete'],
    operator_audit: ['insert'],
    actors: ['select'],
    queues: ['select'],
    jobs: ['select', 'insert', 'update'],
    job_attempts: ['select', 'insert'],
    job_events: ['select', 'insert'],
    jobs_archive: ['select'],
    schedules: ['select', 'insert', 'update'],
    schedule_revisions: ['select', 'insert'],
    schedule_occurrences: ['select', 'insert'],
    schedule_decisions: ['select', 'insert'],
    batches: ['select', 'update'],
    // To lock a row for its end takes the right to change it.
    workers: ['select', 'update', 'delete'],
    reservation_slots: ['select', 'update', 'delete'],
    rate_limit_buckets: ['select', 'update', 'delete'],
    rate_limit_window_entries: ['select', 'update', 'delete'],
  },
}

/**
 * What was done about the roles: `skipped` where this login may not create them, and they do not exist;
 * `left` where the schema is newer than this version.
 */
export type RolesReport = 'settled' | 'skipped' | 'left'

/**
 * Makes the four roles where they are missing, without login, and gives each exactly its grants on this
 * schema; those that are right already are left alone. Runs in the transaction of the caller.
 *
 * Where the platform allows no new roles nothing is lost: all code then runs with the rights of its login.
 */
export async function settleRoles(
  connection: ScriptConnection,
  rolePrefix: string | undefined,
): Promise<RolesReport> {
  const { schema: schemaName } = connection
  const names = databaseRoles.map(role => roleName({ schemaName, rolePrefix }, role))
  await connection.script(names.map(createText).join(';\n'))
  const rows = await connection.script(`select count(*)::int as roles from pg_catalog.pg_roles
    where rolname in (${names.map(quoteLiteral).join(', ')})`)
  if ((rows[0] as { roles: number }).roles < names.length) return 'skipped'
  const wanted = await wantedGrants(connection, rolePrefix)
  const held = await heldGrants(connection, names)
  const changes = [
    ...[...held].filter(grant => !wanted.has(grant)).map(grant => change('revoke', schemaName, grant)),
    ...[...wanted].filter(grant => !held.has(grant)).map(grant => change('grant', schemaName, grant)),
  ]
  if (changes.length > 0) await connection.script(changes.join(';\n'))
  return 'settled'
}

/**
 * The creator may assume what it created, without inheriting it: 16 and later tell the two apart. Two
 * deployments of one prefix may create at once; whoever comes second finds the role there.
 */
function createText(role: string): string {
  const [name, text] = [quoteIdentifier(role), quoteLiteral(role)]
  return `do $$ begin
      if not exists (select from pg_catalog.pg_roles where rolname = ${text}) then
        create role ${name} nologin;
        if current_setting('server_version_num')::int >= 160000 then
          execute 'grant ${name} to current_user with inherit false, set true';
        end if;
      end if;
    exception when insufficient_privilege or duplicate_object or unique_violation then null;
    end $$`
}

/** A grant as `role table privilege`, or `role * usage` of the schema: held or wanted. */
type Grant = `${string} ${string} ${string}`

function change(verb: 'grant' | 'revoke', schemaName: string, grant: Grant): string {
  const [role = '', table = '', privilege] = grant.split(' ')
  const schema = quoteIdentifier(schemaName)
  const on = table === '*' ? `schema ${schema}` : `${schema}.${quoteIdentifier(table)}`
  return `${verb} ${privilege} on ${on} ${verb === 'grant' ? 'to' : 'from'} ${quoteIdentifier(role)}`
}

async function wantedGrants(
  connection: ScriptConnection,
  rolePrefix: string | undefined,
): Promise<Set<Grant>> {
  const { schema: schemaName } = connection
  const tables = (await connection.script(`select relname as name from pg_catalog.pg_class
    where relnamespace = ${namespaceOf(schemaName)} and relkind in ('r', 'p')`)) as { name: string }[]
  const everything: Grants = Object.fromEntries(tables.map(({ name }) => [name, ['select']]))
  const byRole: Readonly<Record<DatabaseRole, Grants>> = { ...grants, reader: everything }
  const wanted = databaseRoles.flatMap(each => {
    const role = roleName({ schemaName, rolePrefix }, each)
    const onTables = Object.entries(byRole[each]).flatMap(([table, privileges]) =>
      privileges.map((privilege): Grant => `${role} ${table} ${privilege}`),
    )
    return [`${role} * usage` as const, ...onTables]
  })
  return new Set(wanted)
}

async function heldGrants(connection: ScriptConnection, names: readonly string[]): Promise<Set<Grant>> {
  const namespace = namespaceOf(connection.schema)
  const rows =
    await connection.script(`select r.rolname || ' ' || name || ' ' || lower(privilege_type) as held
    from (
      select c.relname as name, a.grantee, a.privilege_type
      from pg_catalog.pg_class c, lateral aclexplode(c.relacl) a
      where c.relnamespace = ${namespace} and c.relkind in ('r', 'p')
      union all
      select '*', a.grantee, a.privilege_type
      from pg_catalog.pg_namespace n, lateral aclexplode(n.nspacl) a where n.oid = ${namespace}
    ) as acl
    join pg_catalog.pg_roles r on r.oid = acl.grantee
    where r.rolname in (${names.map(quoteLiteral).join(', ')})`)
  return new Set((rows as { held: Grant }[]).map(({ held }) => held))
}

function namespaceOf(schemaName: string): string {
  return `to_regnamespace(${quoteLiteral(quoteIdentifier(schemaName))})`
}
