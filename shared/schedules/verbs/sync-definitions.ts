import { actorsIn } from '../../client/definitions.ts'
import { type SyncReport, syncWith } from '../../client/sync-actors.ts'
import { TaskQError } from '../../core/errors.ts'
import type { Settings } from '../../core/read-settings.ts'
import type { Connection, Runner } from '../../sql/connection.ts'
import { arg, schema, sql, statement } from '../../sql/statement.ts'
import { text, textArray } from '../../sql/types.ts'
import type { Schedule } from '../define-schedule.ts'
import { firingDefinitionsIn } from '../firing-definitions.ts'
import { schedulesIn } from '../schedules-in.ts'
import { checkFactory, readKnownActors } from './create.ts'
import { words } from './owing.ts'
import { storeDefinitions } from './store-definitions.ts'
import { storeStates } from './store-states.ts'
import { type Done, naming, type Outcome, planSteps, type Step } from './sync-step.ts'

/** What a sync did about schedules, by their names in order. */
export interface SchedulesReport {
  readonly created: readonly string[]
  /** Follow a definition that has changed, or were made by hand and are declared from now on. */
  readonly revised: readonly string[]
  readonly unchanged: number
  /** Were edited by hand since, in these options, and are as they are defined again. */
  readonly drifted: readonly { readonly name: string; readonly fields: readonly string[] }[]
  /** Were disabled because they failed, and run again. */
  readonly enabled: readonly string[]
  /** Are declared and were retired: they stay so until somebody creates them anew. */
  readonly retired: readonly string[]
  /** Were declared before and are in no definition any more: they run on until somebody retires them. */
  readonly undeclared: readonly string[]
}

/** What a sync did: about actors, and about schedules. */
export interface DefinitionsReport extends SyncReport {
  readonly schedules: SchedulesReport
}

/** Rows of one statement. */
const rowsMax = 500
/** Somebody may create a name between a look and the statement that stores it. */
const triesMax = 3

/** Declared schedules that run, and actors that are known, of some names. */
export const readDeclared = statement(
  'read-declared-schedules',
  { name: text },
  sql`select s.name from ${schema}.schedules s
  where s.declared and s.retired_at is null and s.name <> all (${arg('names', textArray)})
  order by s.name`,
)

/**
 * Brings stored actors and schedules to a definitions module, in one transaction. Schedules are created and
 * revised, and none is ever deleted; what an operator paused stays paused, what he retired stays retired.
 * Errors, with nothing written: a wrong export (`OPTION_INVALID` with its place), the payload's,
 * `WRONG_TARGET`, `NOT_MIGRATED`, `ACTOR_UNKNOWN`, and `LOCK_TIMEOUT`.
 *
 * @example
 * await syncDefinitions(connection, definitions, settings, 'ada@laptop')
 * // { schema: 'taskq', created: [], …, schedules: { created: ['daily-post'], … } }
 */
export async function syncDefinitions(
  connection: Connection,
  definitions: unknown,
  settings: Settings,
  principal: string,
): Promise<DefinitionsReport> {
  return syncOf(definitions)(connection, settings, principal)
}

/** The same in two steps: what is wrong in a module is refused before anybody connects. */
export function syncOf(definitions: unknown) {
  const actors = actorsIn(definitions)
  const schedules = schedulesIn(definitions)
  const firing = firingDefinitionsIn(definitions)
  for (const { name, payloadFactory = null } of schedules) {
    naming(name, () => checkFactory(payloadFactory, firing))
  }
  return async (
    connection: Connection,
    settings: Settings,
    principal: string,
  ): Promise<DefinitionsReport> => {
    const [report, stored] = await syncWith(connection, actors, settings, transaction =>
      storeSchedules(transaction, schedules, settings, principal),
    )
    return { ...report, schedules: stored }
  }
}

/** Stores schedules in the transaction of a sync. */
async function storeSchedules(
  transaction: Runner,
  schedules: readonly Schedule[],
  settings: Settings,
  principal: string,
): Promise<SchedulesReport> {
  const sorted = schedules.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  await requireActors(transaction, sorted)
  const done: Done[] = []
  for (let first = 0; first < sorted.length; first += rowsMax) {
    done.push(...(await storeSome(transaction, sorted.slice(first, first + rowsMax), settings, principal)))
  }
  const undeclared = await transaction.run(readDeclared, { names: sorted.map(({ name }) => name) })
  const named = (outcome: Outcome) => done.filter(each => each.outcome === outcome).map(({ name }) => name)
  return {
    created: named('created'),
    revised: named('revised'),
    unchanged: named('unchanged').length,
    drifted: done.filter(each => each.outcome === 'drifted').map(({ name, fields }) => ({ name, fields })),
    enabled: done.filter(each => each.enabled).map(({ name }) => name),
    retired: named('retired'),
    undeclared: undeclared.map(({ name }) => name),
  }
}

async function requireActors(transaction: Runner, schedules: readonly Schedule[]): Promise<void> {
  const names = [...new Set(schedules.map(({ actor }) => actor.name))]
  const known = new Set((await transaction.run(readKnownActors, { names })).map(({ actor }) => actor))
  const wrong = schedules.find(({ actor }) => !known.has(actor.name))
  if (wrong === undefined) return
  const reason = `actor "${wrong.actor.name}" of schedule "${wrong.name}" is unknown here: export it, too`
  throw new TaskQError('ACTOR_UNKNOWN', reason, { field: 'actor' })
}

async function storeSome(
  transaction: Runner,
  schedules: readonly Schedule[],
  settings: Settings,
  principal: string,
): Promise<Done[]> {
  const done: Done[] = []
  let left = schedules
  for (let tries = 1; left.length > 0; tries++) {
    if (tries > triesMax) throw new TaskQError('LOCK_TIMEOUT', 'others create the same schedules: sync again')
    const { steps, nowMs } = await planSteps(transaction, left, settings.payloadMaxBytes)
    const changes = steps.flatMap(({ change }) => change ?? [])
    const states = steps.flatMap(({ state }) => state ?? [])
    const who = { principal, reason: null }
    const stored =
      changes.length === 0
        ? []
        : await transaction.run(storeDefinitions, { ...who, changes, now: words(nowMs), isSync: true })
    if (states.length > 0) await transaction.run(storeStates, { ...who, changes: states })
    const names = new Set(stored.map(({ name }) => name))
    const isDone = ({ name, change }: Step) => change === undefined || names.has(name)
    done.push(...steps.filter(isDone))
    const raced = new Set(steps.filter(step => !isDone(step)).map(({ name }) => name))
    left = left.filter(({ name }) => raced.has(name))
  }
  return done
}
