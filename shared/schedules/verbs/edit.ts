import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Actor } from '../../client/define-actor.ts'
import { InvalidInputError } from '../../core/errors.ts'
import type { CommonTerms, MissedRun, Payloads, WhenDue } from '../define-schedule.ts'
import { type Definition, definitionOf, differences } from '../definition.ts'
import { merged, partsOf } from '../firing.ts'
import { fieldsOf, type GivenFields, type ScheduleFields } from '../schedule-fields.ts'
import { checkFactory, firstFrom, requireActor, uncheckedWords, withSchema } from './create.ts'
import { dateOf } from './finite-ms.ts'
import type { HeldSchedule } from './held-schedule.ts'
import { owedWords, owingAt, words } from './owing.ts'
import { changeOf, type DefinitionChange, storeDefinitions } from './store-definitions.ts'
import { requireReason } from './switch.ts'
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
 * Changes what a schedule is. What was due before the edit stays owed, at the times of the old definition and
 * by its answers for missed runs and open instances, so its cursor stays where anything is; else it goes to
 * the first instant of the new one. What is owed fires with the payload, queue and actor that stand then, so
 * that an edit mends what fails, which is forgotten. A deliverable that owes something becomes an intent only
 * with a reason. Errors, with nothing written: `SCHEDULE_UNKNOWN`, and those of `create`.
 */
export async function editSchedule(
  { transact, settings, principal, definitions }: VerbPorts,
  name: string,
  changes: object,
  options: Reasoned = {},
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
    requireReasonToRelease(held, definition, nowMs, options)
    if (given.payloadFactory !== undefined) checkFactory(definition.payloadFactory, definitions)
    if (given.actor !== undefined) await requireActor(transaction, given.actor)
    const makesOther = ['actor', 'payload', 'payloadFactory'].some(option => Object.hasOwn(given, option))
    const change = editOf(held, definition, nowMs, changed)
    const note = change.note + (makesOther ? uncheckedWords(fields, definitions) : '')
    const how = { changes: [{ ...change, note, declared: held.declared }], isSync: false }
    const who = { now: words(nowMs), principal, reason: options.reason ?? null }
    const [stored] = await transaction.run(storeDefinitions, { ...how, ...who })
    if (stored === undefined) throw new Error(`schedule "${name}" was locked and is gone`)
    return { name, changed: true, revision: stored.revision, nextAt: dateOf(stored.nextMs), note }
  })
}

/** Of an intent only the newest is owed: who makes one of a deliverable that owes something says why. */
function requireReasonToRelease(
  held: HeldSchedule,
  { shape }: Definition,
  nowMs: number,
  options: Reasoned,
): void {
  if (shape === 'deliverable') return
  const owing = owingAt(held, nowMs)
  if (owing.count !== 0) requireReason(held, options, `makes an intent of ${owedWords(owing)}`)
}

/** The fields that stand, with what was given in their place. */
function edited({ name, definition }: HeldSchedule, given: GivenFields): ScheduleFields {
  const { ageFollowsPeriod, maxUnclaimedAgeMs, ...rest } = definition
  return { ...rest, name, maxUnclaimedAgeMs: ageFollowsPeriod ? null : maxUnclaimedAgeMs, ...given }
}

/** The first instant from now on, of what an old smear still lets fire and what the new definition says. */
function nextThroughEdit(held: HeldSchedule, definition: Definition, nowMs: number): number | null {
  const { id, earlier, revisedAtMs } = held
  try {
    const old = { ...held, fromMs: revisedAtMs, untilMs: nowMs }
    const parts = partsOf(id, { ...definition, revisedAtMs: nowMs }, [...(earlier ?? []), old])
    return merged(parts).next(nowMs - 1)?.atMs ?? null
  } catch {
    // What stood could not be read, so that nothing of it is due.
    return firstFrom(id, definition, nowMs)
  }
}

/** What is due before an edit. Its job is made by what stands, so that an edit can mend what fails. */
const owedHow = 'owed at the old times and by the old answers, with the payload, queue and actor of now'

/** What an edit does to the row and its cursor, and says of it. */
export function editOf(
  held: HeldSchedule,
  definition: Definition,
  nowMs: number,
  changed: readonly string[],
): DefinitionChange {
  const owing = owingAt(held, nowMs)
  const keeps = owing.count !== undefined && owing.count > 0
  const nextMs = nextThroughEdit(held, definition, nowMs)
  const said = changed.length === 0 ? 'declared as it is' : `changed ${changed.join(', ')}`
  const note = keeps
    ? `${said}; keeps ${owedWords(owing)}, ${owedHow}; then the next is ${words(nextMs)}`
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
