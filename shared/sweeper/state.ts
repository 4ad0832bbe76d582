import type { Connection } from '../sql/connection.ts'
import { arg, type Statement, schema, sql, statement } from '../sql/statement.ts'
import { bool, float8, int4, int8, text } from '../sql/types.ts'

const purpose = arg('purpose', text)
const isSuccess = arg('isSuccess', bool)
const error = arg('error', text.orNull)

/** What a run finds: its own row, where there is one, and the instant at which it starts. */
export const readState = statement(
  'read-sweep-state',
  { started_at: text, disabled: bool, latched: bool },
  sql`select clock_timestamp()::text as started_at,
    coalesce(bool_or(disabled_at is not null), false) as disabled,
    coalesce(bool_or(latched_at is not null), false) as latched
  from ${schema}.sweep_state
  where function = ${purpose}`,
)

const isAbort = arg('isAbort', bool)

/** Whether the streak of aborts that the row tells of is still one: its first lies inside the window. */
const isStreak = sql`coalesce(s.first_abort_at > clock_timestamp()
      - make_interval(secs => ${arg('breakerWindowSeconds', float8)}), false)`

/** The streak with this run's abort. */
const streak = sql`case when ${isStreak} then s.consecutive_aborts + 1 else 1 end`

/**
 * The one write of an idle run. A predecessor that is still in its window sees the newer start and leaves.
 * A second write of the same run replaces its outcome and adds only what was done since the first. An
 * error stands with its instant until the next success clears it.
 *
 * It keeps the breaker, too: an abort lengthens the streak, and the threshold's latches; a success ends the
 * streak and never the latch, because a quiet run says nothing about whether a batch of full size would fit.
 * And a drain that came to its end has had every row whose time aside was over: those did not fail again.
 */
export const writeState = statement(
  'write-sweep-state',
  {},
  sql`with come_back as (
    delete from ${schema}.sweep_quarantine
    where function = ${purpose} and until <= ${arg('startedAt', text)}::timestamptz
      and ${arg('outcome', text)} = 'drained'
  )
  insert into ${schema}.sweep_state as s (
    function, last_started_at, last_success_at, last_outcome, last_rows, rows_total,
    batch_size, batch_size_configured, recent_outcomes, last_error, last_error_at,
    consecutive_aborts, first_abort_at, latched_at)
  values (
    ${purpose}, ${arg('startedAt', text)}::timestamptz,
    case when ${isSuccess} then clock_timestamp() end,
    ${arg('outcome', text)}, ${arg('rows', int8)}, ${arg('rowsAdded', int8)},
    ${arg('batchSize', int4)}, ${arg('batchSizeConfigured', int4)}, array[${arg('outcome', text)}],
    ${error}, case when ${error} is not null then clock_timestamp() end,
    case when ${isAbort} then 1 else 0 end, case when ${isAbort} then clock_timestamp() end,
    case when ${isAbort} and ${arg('breakerThreshold', int4)} <= 1 then clock_timestamp() end)
  on conflict (function) do update set
    last_started_at = greatest(s.last_started_at, excluded.last_started_at),
    last_success_at = coalesce(excluded.last_success_at, s.last_success_at),
    last_outcome = excluded.last_outcome,
    last_rows = excluded.last_rows,
    rows_total = s.rows_total + excluded.rows_total,
    batch_size = excluded.batch_size,
    batch_size_configured = excluded.batch_size_configured,
    last_error = case when not ${isSuccess} then coalesce(excluded.last_error, s.last_error) end,
    last_error_at = case when not ${isSuccess} then coalesce(excluded.last_error_at, s.last_error_at) end,
    recent_outcomes = (
      excluded.recent_outcomes
      || s.recent_outcomes[case when ${arg('isFirstWrite', bool)} then 1 else 2 end:])[:5],
    consecutive_aborts = case
      when ${isSuccess} then 0
      when ${isAbort} then ${streak}
      else s.consecutive_aborts
    end,
    first_abort_at = case
      when ${isSuccess} then null
      when ${isAbort} and not ${isStreak} then clock_timestamp()
      else s.first_abort_at
    end,
    latched_at = coalesce(s.latched_at, case
      when ${isAbort} and ${streak} >= ${arg('breakerThreshold', int4)} then clock_timestamp()
    end)`,
)

/** Whether a later run has written its row, or somebody switched it off; and the database's now. */
export const readSuccessor = statement(
  'read-sweep-successor',
  { isToLeave: bool, now: text },
  sql`select coalesce(
      bool_or(last_started_at > ${arg('startedAt', text)}::timestamptz or disabled_at is not null), false)
      as "isToLeave",
    clock_timestamp()::text as now
  from ${schema}.sweep_state
  where function = ${purpose}`,
)

/** The first row of a statement that always returns one. */
export async function readOne<Row, Args>(
  connection: Connection,
  one: Statement<Row, Args>,
  args: Args,
): Promise<Row> {
  const [row] = await connection.run(one, args)
  if (row === undefined) throw new Error(`${one.name} returned no row`)
  return row
}
