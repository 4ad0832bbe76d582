import { arg, schema, sql, statement } from '../sql/statement.ts'
import { bool, int4, text, textArray, timestamptz } from '../sql/types.ts'

/**
 * What people change by hand. Each statement writes its row of the audit from the rows that it changed, so
 * that there is never one without the other: what was so already is changed by nobody and leaves no row.
 */
const purpose = arg('purpose', text)
const principal = arg('principal', text)
const reason = arg('reason', text.orNull)
const isOff = arg('isOff', bool)
const rowKey = arg('rowKey', text.orNull)
/** Of one function, or null: of all. */
const anyPurpose = arg('purpose', text.orNull)

/** Who does something by hand, and why. */
export interface Operator {
  /** A person and a machine, `ada@laptop`, or what an event says of who sent it. */
  readonly principal: string
  readonly reason: string | null
}

const tellAudit = sql`insert into ${schema}.operator_audit (principal, action, target, reason, detail)`

/**
 * Switches a function off or on again; returns a row where it was not so already. The row is made where the
 * function has none, since nobody has migrated for it yet. A run that is under way leaves when it next looks
 * whether something is due.
 */
export const switchFunction = statement(
  'switch-function',
  { disabledAt: timestamptz.orNull },
  sql`with switched as (
    insert into ${schema}.sweep_state as s (function, disabled_at, disabled_by)
    select ${purpose}, case when ${isOff} then clock_timestamp() end,
      case when ${isOff} then ${principal} end
    on conflict (function) do update
    set disabled_at = excluded.disabled_at, disabled_by = excluded.disabled_by
    where (s.disabled_at is not null) <> ${isOff}
    returning disabled_at
  ), told as (
    ${tellAudit}
    select ${principal}, case when ${isOff} then 'disable_function' else 'enable_function' end,
      ${purpose}, ${reason}, '{}'
    from switched
  )
  select disabled_at as "disabledAt" from switched`,
)

/**
 * Clears a function's breaker: its latch and its count; returns a row where there was one to clear. Nothing
 * but this and the deployment of something new does: time shows nothing, and neither does a run that went
 * well at a quarter of the size.
 */
export const resetBreaker = statement(
  'reset-breaker',
  { wasLatched: bool, aborts: int4 },
  sql`with before as materialized (
    select latched_at, consecutive_aborts from ${schema}.sweep_state
    where function = ${purpose} and (latched_at is not null or consecutive_aborts > 0)
    for update
  ), cleared as (
    update ${schema}.sweep_state
    set latched_at = null, consecutive_aborts = 0, first_abort_at = null
    from before
    where function = ${purpose}
    returning before.*
  ), told as (
    ${tellAudit}
    select ${principal}, 'reset_breaker', ${purpose}, ${reason},
      jsonb_build_object('latched_at', latched_at, 'consecutive_aborts', consecutive_aborts)
    from cleared
  )
  select latched_at is not null as "wasLatched", consecutive_aborts as aborts from cleared`,
)

/**
 * Lets rows that a function has set aside be due again at once: one, or all of them; returns their keys. What
 * was counted against a row goes with it, because whoever releases one has mended something.
 */
export const releaseRows = statement(
  'release-rows',
  { rowKeys: textArray },
  sql`with released as (
    delete from ${schema}.sweep_quarantine
    where function = ${purpose} and (${rowKey} is null or row_key = ${rowKey})
    returning row_key
  ), keys as (
    select array_agg(row_key order by row_key) as row_keys from released having count(*) > 0
  ), told as (
    ${tellAudit}
    select ${principal}, 'release_rows', ${purpose}, ${reason}, jsonb_build_object('row_keys', row_keys)
    from keys
  )
  select row_keys as "rowKeys" from keys`,
)

/** What is stored of each function that has a row: its switch and its breaker. */
export const listFunctions = statement(
  'list-functions',
  {
    function: text,
    disabledAt: timestamptz.orNull,
    disabledBy: text.orNull,
    latchedAt: timestamptz.orNull,
    consecutiveAborts: int4,
    lastOutcome: text.orNull,
    lastError: text.orNull,
    setAside: int4,
  },
  sql`select s.function, disabled_at as "disabledAt", disabled_by as "disabledBy",
    latched_at as "latchedAt", consecutive_aborts as "consecutiveAborts",
    last_outcome as "lastOutcome", last_error as "lastError",
    (select count(*)::int from ${schema}.sweep_quarantine q where q.function = s.function) as "setAside"
  from ${schema}.sweep_state s
  order by s.function`,
)

/** The rows that are set aside, of one function or of all; no function has more than a bounded number. */
export const listSetAside = statement(
  'list-set-aside',
  {
    function: text,
    rowKey: text,
    failures: int4,
    until: timestamptz,
    lastError: text.orNull,
    firstSeenAt: timestamptz,
  },
  sql`select function, row_key as "rowKey", failures, until, last_error as "lastError",
    first_seen_at as "firstSeenAt"
  from ${schema}.sweep_quarantine
  where ${anyPurpose} is null or function = ${anyPurpose}
  order by function, first_seen_at, row_key`,
)
