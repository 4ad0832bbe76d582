import { arg, sql } from '../../sql/statement.ts'
import { int4 } from '../../sql/types.ts'
import { ageOf, type Gauge, gaugeOf } from '../gauge.ts'

const longAgo = sql`statement_timestamp() - make_interval(secs => ${arg('snapshotSeconds', int4)})`

/**
 * Who keeps dead rows from being cleaned, or the feed's horizon from rising: a snapshot in this database, a
 * writing transaction in any of the cluster's, or one that was prepared and forgotten. A vacuum's own does
 * neither.
 *
 * A login sees into its own sessions, and into others' only with `pg_read_all_stats`. Where a session of
 * another login is hidden, that nobody holds anything is not known. The server's own processes are left out.
 */
const holders = sql`with hidden as materialized (
    select count(*) as sessions from pg_catalog.pg_stat_activity a
    where a.backend_type is null and a.usesysid is not null
  ),
  found as (
    select a.pid, a.usename::text as user, a.application_name as application, a.datname::text as database,
      a.state, ${ageOf(sql`a.xact_start`)} as "ageSeconds"
    from pg_catalog.pg_stat_activity a
    where a.xact_start < ${longAgo}
      and (a.backend_xid is not null
        or a.backend_xmin is not null and (a.datname is null or a.datname = current_database()))
      and a.pid <> pg_catalog.pg_backend_pid()
      and a.pid not in (select pid from pg_catalog.pg_stat_progress_vacuum)
    union all
    select null, p.owner::text, p.gid, p.database::text, 'prepared', ${ageOf(sql`p.prepared`)}
    from pg_catalog.pg_prepared_xacts p
    where p.prepared < ${longAgo}
  )`

/** The oldest snapshot: its holder is the first of `worst`. */
export const oldestSnapshot: Gauge = {
  name: 'OldestSnapshotAgeSeconds',
  unit: 'Seconds',
  doc:
    'how long the oldest transaction over 5 minutes has been open that slows every drain and claim; absent ' +
    'where none is seen and sessions of other logins are hidden',
  asLogin: true,
  statement: gaugeOf('gauge-oldest-snapshot', holders, {
    value: sql`case when count(*) > 0 then max("ageSeconds")
      when (select sessions from hidden) = 0 then 0 end`,
    worstFirst: sql`"ageSeconds" desc, pid`,
  }),
}

export const databaseGauges: readonly Gauge[] = [oldestSnapshot]
