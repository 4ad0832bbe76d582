import { randomUUID } from 'node:crypto'
import { InvalidInputError, isTaskQError } from '../../core/errors.ts'
import type { Runner } from '../../sql/connection.ts'
import type { Schedule } from '../define-schedule.ts'
import { type Definition, definitionOf, differences } from '../definition.ts'
import { fieldsOf, requireAll } from '../schedule-fields.ts'
import { firstFrom } from './create.ts'
import { editOf } from './edit.ts'
import { type HeldSchedule, lockSchedules, readClock, readSchedules } from './held-schedule.ts'
import { words } from './owing.ts'
import { changeOf, type DefinitionChange } from './store-definitions.ts'
import type { StateChange } from './store-states.ts'
import { resumeOf } from './switch.ts'

/** What a sync finds about one schedule. */
export type Outcome = 'created' | 'revised' | 'unchanged' | 'drifted' | 'retired'

/** One schedule of a sync. */
export interface Done {
  readonly name: string
  readonly outcome: Outcome
  readonly fields: readonly string[]
  readonly enabled: boolean
}

/** The same with what is to be stored for it. */
export interface Step extends Done {
  readonly change?: DefinitionChange
  readonly state?: StateChange
}

/** Locks schedules and compares them with their definitions; answers with the instant of comparing, too. */
export async function planSteps(
  transaction: Runner,
  schedules: readonly Schedule[],
  payloadBytesMax: number,
) {
  const names = schedules.map(({ name }) => name)
  await transaction.run(lockSchedules, { names })
  const rows = await transaction.run(readSchedules, { names })
  const [clock] = await transaction.run(readClock, {})
  const nowMs = clock?.nowMs ?? 0
  const byName = new Map(rows.map(row => [row.name, row]))
  const steps: Step[] = []
  for (const schedule of schedules) {
    const held = byName.get(schedule.name)
    steps.push(await planStep(schedule, held, nowMs, payloadBytesMax))
  }
  return { steps, nowMs }
}

async function planStep(
  schedule: Schedule,
  held: HeldSchedule | undefined,
  nowMs: number,
  payloadBytesMax: number,
): Promise<Step> {
  const { name } = schedule
  const fields = requireAll(fieldsOf(schedule))
  const ports = { nowMs, payloadBytesMax, standing: held?.declaredDefinition ?? null }
  const definition = await naming(name, () => definitionOf(fields, ports))
  const nothing = { name, fields: [], enabled: false }
  if (held === undefined) return { ...nothing, outcome: 'created', change: creation(name, definition, nowMs) }
  if (held.isRetired) return { ...nothing, outcome: 'retired' }
  const changed = differences(held.definition, definition)
  // A failure disabled it: whoever deploys it again has mended something, and else it is disabled again.
  const enabled = held.disabledBy === 'auto'
  if (changed.length === 0 && held.declared && held.standsAsDeclared) {
    const state = enabled ? { state: resumeOf(held, 'enabled again: it is declared') } : {}
    return { ...nothing, outcome: 'unchanged', enabled, ...state }
  }
  const change = { ...editOf(held, definition, nowMs, changed), declared: true, enables: enabled }
  const byHand = driftOf(held, definition)
  return { name, outcome: byHand.length > 0 ? 'drifted' : 'revised', fields: byHand, enabled, change }
}

/** What was edited by hand since the last sync, and is otherwise than it is defined. */
function driftOf({ definition: standing, declaredDefinition }: HeldSchedule, wanted: Definition): string[] {
  if (declaredDefinition === null) return []
  const wrong = differences(standing, wanted)
  return differences(declaredDefinition, standing).filter(field => wrong.includes(field))
}

function creation(name: string, definition: Definition, nowMs: number): DefinitionChange {
  const id = randomUUID()
  const nextMs = firstFrom(id, definition, nowMs)
  const note = `declared: the first instant is ${words(nextMs)}`
  const how = { action: 'create', keeps: false, enables: true, declared: true } as const
  return changeOf(definition, { id, name, nextMs, note, ...how })
}

/** Does some work for one schedule of a module; what is refused then has the schedule's name in its field. */
export function naming<T>(name: string, work: () => T): T {
  const named = (error: unknown) => {
    if (!isTaskQError(error) || error.field === undefined) return error
    const reason = error.message.replace(`${error.field}: `, '')
    return new InvalidInputError(error.code, `schedules "${name}" ${error.field}`, reason, { cause: error })
  }
  try {
    const done = work()
    if (!(done instanceof Promise)) return done
    return done.catch(error => {
      throw named(error)
    }) as T
  } catch (error) {
    throw named(error)
  }
}
