import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Actor } from '../../client/define-actor.ts'
import { InvalidInputError } from '../../core/errors.ts'
import type { CommonTerms, MissedRun, Payloads, WhenDue } from '../define-schedule.ts'
import { type Definition, definitionOf, differences } from '../definition.ts'
import { fieldsOf, type GivenFields, type ScheduleFields } from '../schedule-fields.ts'
import { checkFactory, firstFrom, requireActor, withSchema } from './create.ts'
import type { HeldSchedule } from './held-schedule.ts'
import { owedWords, owingAt, words } from './owing.ts'
import { changeOf, type DefinitionChange, storeDefinitions } from './store-definitions.ts'
import { lockLiving, type Reasoned, type ScheduleChanged, unchanged, type VerbPorts } from './verb-ports.ts'

type Cleared = 'queue' | 'maxUnclaimedAge' | 'startAt' | 'endAt'

/** What an edit may say: any option but the name, and null for what it takes back. */
export type ScheduleEdit<Payload extends StandardSchemaV1 = StandardSchemaV1> = {
  readonly [Name in keyof Omit<CommonTerms, 'name'>]?:
    | CommonTerms[Name]
    | (Name extends Cleared ? null : never)
} & { readonly actor?: Actor<Payload> | string } & (WhenDue | Neither<'cron' | 'every'>) &
  (MissedRun | Neither<'intent' | 'deliverable'>) &
  (Payloads<Payload> | Neither<'payload' | 'payloadFactory'>)

type Neither<Names extends string> = { readonly [Name in Names]?: never }

/**
 * Changes what a schedule is. What was due before the edit stays owed as the old definition said, so its
 * cursor stays where anything is; else it goes to the first instant of the new one. What failed before is
 * forgotten. Errors, with nothing written: `SCHEDULE_UNKNOWN`, and those of `create`.
 */
export async function editSchedule(
  { transact, settings, principal, definitions }: VerbPorts,
  name: string,
  changes: object,
  { reason }: Reasoned = {},
): Promise<ScheduleChanged> {
  const given = fieldsOf(changes, true)
  if (given.name !== undefined) {
    throw new InvalidInputError(
      'OPTION_INVALID',
      'name',
      'cannot be edited: another name is another schedule',
    )
  }
  return transact(async transaction => {
    const { held, nowMs } = await lockLiving(transaction, name)
    const fields = withSchema(edited(held, given), definitions)
    const ports = { nowMs, payloadBytesMax: settings.payloadMaxBytes, standing: held.definition }
    const definition = await definitionOf(fields, ports)
    const changed = differences(held.definition, definition)
    if (changed.length === 0) return unchanged(held, 'it is so already')
    if (given.payloadFactory !== undefined) checkFactory(definition.payloadFactory, definitions)
    if (given.actor !== undefined) await requireActor(transaction, given.actor)
    const change = editOf(held, definition, nowMs, changed)
    const how = { changes: [{ ...change, declared: held.declared }], isSync: false }
    const who = { now: words(nowMs), principal, reason: reason ?? null }
    const [stored] = await transaction.run(storeDefinitions, { ...how, ...who })
    if (stored === undefined) throw new Error(`schedule "${name}" was locked and is gone`)
    return { name, changed: true, revision: stored.revision, nextAt: stored.nextAt, note: change.note }
  })
}

/** The fields that stand, with what was given in their place. */
function edited({ name, definition }: HeldSchedule, given: GivenFields): ScheduleFields {
  const { ageFollowsPeriod, maxUnclaimedAgeMs, ...rest } = definition
  return { ...rest, name, maxUnclaimedAgeMs: ageFollowsPeriod ? null : maxUnclaimedAgeMs, ...given }
}

/** What an edit does to the row and its cursor, and says of it. */
export function editOf(
  held: HeldSchedule,
  definition: Definition,
  nowMs: number,
  changed: readonly string[],
): DefinitionChange {
  const owing = owingAt(held, nowMs)
  const keeps = owing.count !== undefined && owing.count > 0
  const nextMs = firstFrom(held.id, definition, nowMs)
  const said = changed.length === 0 ? 'declared as it is' : `changed ${changed.join(', ')}`
  const note = keeps
    ? `${said}; keeps ${owedWords(owing)}, owed as it was; then the next is ${words(nextMs)}`
    : `${said}; owed ${owedWords(owing)}; the next was ${words(held.cursorMs)} and is ${words(nextMs)}`
  const { id, name, declared } = held
  return changeOf(definition, {
    id,
    name,
    action: 'edit',
    keeps,
    nextMs,
    enables: false,
    declared,
    note,
  })
}
