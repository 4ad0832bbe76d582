import { InvalidInputError } from '../../core/errors.ts'
import { checkName } from '../../core/names.ts'
import { arg, schema, sql, statement } from '../../sql/statement.ts'
import { bool, int4, int8, type PgType, text, uuid } from '../../sql/types.ts'
import type { Missed } from '../planner.ts'
import type { MissedAnswers } from '../schedule-fields.ts'
import { dateOf, finiteMs } from './finite-ms.ts'
import type { VerbPorts } from './verb-ports.ts'

export const schedulesListedMax = 1000

export interface ListOptions {
  /** Names after this one, in the order of the list: the last of the page before. */
  readonly after?: string
  /** At most so many, 1 to 1000; 1000 where absent. */
  readonly limit?: number
  /** Whether those that were retired are listed, too. */
  readonly retired?: boolean
}

/** A schedule in a list. Instants are the database's. */
export interface ListedSchedule extends MissedAnswers {
  readonly id: string
  readonly name: string
  readonly actor: string
  readonly queue: string | null
  /** A cron expression, or `every 15m`. */
  readonly recurrence: string
  readonly timezone: string
  /** The first instant that nobody has decided about; null: none comes any more. */
  readonly nextAt: Date | null
  readonly lastFiredAt: Date | null
  readonly enabled: boolean
  readonly disabledBy: 'operator' | 'auto' | null
  /** Failures in a row. */
  readonly failures: number
  readonly lastError: string | null
  readonly declared: boolean
  readonly revision: number
  readonly retiredAt: Date | null
}

const word = <T extends string>() => text as PgType<unknown> as PgType<T>

export const listSchedules = statement(
  'list-schedules',
  {
    id: uuid,
    name: text,
    actor: text,
    queue: text.orNull,
    recurrence: text,
    timezone: text,
    shape: word<MissedAnswers['shape']>(),
    missed: word<Missed>(),
    onOpen: word<MissedAnswers['onOpen']>(),
    nextMs: int8.orNull,
    lastFiredMs: int8.orNull,
    enabled: bool,
    disabledBy: word<'operator' | 'auto'>().orNull,
    failures: int4,
    lastError: text.orNull,
    declared: bool,
    revision: int4,
    retiredMs: int8.orNull,
  },
  sql`select s.id, s.name, s.actor, s.queue, s.recurrence, s.timezone, s.shape, s.missed,
    s.on_open as "onOpen", ${finiteMs(sql`s.next_fire_at`)} as "nextMs",
    ${finiteMs(sql`s.last_fired_at`)} as "lastFiredMs", s.enabled, s.disabled_by as "disabledBy",
    s.consecutive_failures as failures, s.last_fire_error as "lastError", s.declared, s.revision,
    ${finiteMs(sql`s.retired_at`)} as "retiredMs"
  from ${schema}.schedules s
  where (${arg('after', text.orNull)} is null or s.name > ${arg('after', text.orNull)})
    and (${arg('retired', bool)} or s.retired_at is null)
    and (${arg('name', text.orNull)} is null or s.name = ${arg('name', text.orNull)})
  order by s.name
  limit ${arg('limit', int4)}`,
)

type Listed = NonNullable<(typeof listSchedules)['_row']>

const answered = ({ nextMs, lastFiredMs, retiredMs, ...rest }: Listed): ListedSchedule => ({
  ...rest,
  nextAt: dateOf(nextMs),
  lastFiredAt: dateOf(lastFiredMs),
  retiredAt: dateOf(retiredMs),
})

/** Schedules by their names, a page at a time. */
export async function pageOfSchedules(
  { transact }: VerbPorts,
  { after, limit = schedulesListedMax, retired = false }: ListOptions = {},
): Promise<ListedSchedule[]> {
  if (!Number.isInteger(limit) || limit < 1 || limit > schedulesListedMax) {
    const reason = `is not a whole number 1..${schedulesListedMax}`
    throw new InvalidInputError('OPTION_INVALID', 'limit', reason)
  }
  if (after !== undefined) checkName('after', after)
  const args = { after: after ?? null, limit, retired, name: null }
  return (await transact(transaction => transaction.run(listSchedules, args))).map(answered)
}

/** One schedule, retired or not, or undefined. */
export async function oneSchedule(
  { transact }: VerbPorts,
  name: string,
): Promise<ListedSchedule | undefined> {
  checkName('name', name)
  const args = { after: null, limit: 1, retired: true, name }
  const [found] = await transact(transaction => transaction.run(listSchedules, args))
  return found && answered(found)
}
