import { randomUUID } from 'node:crypto'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Actor } from '../../client/define-actor.ts'
import { storedDefinition } from '../../client/insert-jobs.ts'
import { InvalidInputError, TaskQError } from '../../core/errors.ts'
import type { Runner } from '../../sql/connection.ts'
import { arg, schema, sql, statement } from '../../sql/statement.ts'
import { jsonb, text, textArray } from '../../sql/types.ts'
import type { ScheduleOptions, ScheduleTerms } from '../define-schedule.ts'
import { type Definition, definitionOf } from '../definition.ts'
import { firingOf } from '../firing.ts'
import type { FiringDefinitions } from '../payload-factory.ts'
import { recurrenceOf } from '../recurrence/recurrence.ts'
import { fieldsOf, requireAll, type ScheduleFields } from '../schedule-fields.ts'
import { dateOf } from './finite-ms.ts'
import { words } from './owing.ts'
import { schemaOf } from './own-payload.ts'
import { changeOf, storeDefinitions } from './store-definitions.ts'
import { lock, type Reasoned, type ScheduleChanged, type VerbPorts } from './verb-ports.ts'

/** A new schedule; where its actor is a bare name, its payload is held to no schema here. */
export type NewSchedule<Payload extends StandardSchemaV1 = StandardSchemaV1> =
  | ScheduleOptions<Payload>
  | ({ readonly actor: string } & ScheduleTerms<StandardSchemaV1>)

/** Makes an actor known, as its first enqueue by its definition does. */
export const knowActor = statement(
  'know-actor-of-schedule',
  {},
  sql`insert into ${schema}.actors (
    actor, queue, max_attempts, retry_kind, retry_backoff, retry_base, retry_cap, retry_jitter)
  select ${arg('actor', text)}, g.queue, g."maxAttempts", g."retryKind", g."retryBackoff",
    make_interval(secs => g."retryBaseMs" / 1000), make_interval(secs => g."retryCapMs" / 1000),
    g."retryJitter"
  from jsonb_to_record(${arg('definition', jsonb)}) as g (
    queue text, "maxAttempts" int, "retryKind" text, "retryBackoff" text,
    "retryBaseMs" float8, "retryCapMs" float8, "retryJitter" float8)
  on conflict do nothing`,
)

/** Which of some actors are known. */
export const readKnownActors = statement(
  'read-known-actors',
  { actor: text },
  sql`select a.actor from ${schema}.actors a where a.actor = any (${arg('names', textArray)})`,
)

/**
 * Creates a schedule, or a retired one of the name anew: its first instant is the first from now on. Errors,
 * with nothing written: what `defineSchedule` refuses, the payload's, `SCHEDULE_EXISTS`, `ACTOR_UNKNOWN`.
 */
export async function createSchedule(
  { transact, settings, principal, definitions }: VerbPorts,
  options: object,
  { reason }: Reasoned = {},
): Promise<ScheduleChanged> {
  const fields = requireAll(fieldsOf(options))
  const recurrence = recurrenceOf(fields)
  checkFactory(fields.payloadFactory, definitions)
  const { name } = fields
  return transact(async transaction => {
    const { held, nowMs } = await lock(transaction, name)
    if (held !== undefined && !held.isRetired) throw existing()
    const ports = { nowMs, payloadBytesMax: settings.payloadMaxBytes, standing: null }
    if (recurrence.next(nowMs - 1) === undefined) {
      throw new InvalidInputError('OPTION_INVALID', endingField(options), 'leaves no instant from now on')
    }
    const checked = withSchema(fields, definitions)
    const definition = await definitionOf(checked, ports)
    const id = held?.id ?? randomUUID()
    const nextMs = firstFrom(id, definition, nowMs)
    await requireActor(transaction, fields.actor)
    const what = held === undefined ? 'created' : 'created anew'
    const note = `${what}: the first instant is ${words(nextMs)}${uncheckedWords(checked, definitions)}`
    const how = {
      id,
      name,
      action: 'create',
      keeps: false,
      nextMs,
      enables: true,
      declared: false,
      note,
    } as const
    const args = { changes: [changeOf(definition, how)], now: words(nowMs), principal, isSync: false }
    const [stored] = await transaction.run(storeDefinitions, { ...args, reason: reason ?? null })
    if (stored === undefined) throw existing()
    return { name, changed: true, revision: stored.revision, nextAt: dateOf(stored.nextMs), note }
  })
}

const existing = () =>
  new TaskQError('SCHEDULE_EXISTS', 'name: a schedule of this name exists: edit it, or retire it first', {
    field: 'name',
  })

/** The first instant of a definition from a moment on, itself included; null: none comes. */
export function firstFrom(id: string, definition: Definition, nowMs: number): number | null {
  return firingOf(id, definition).next(nowMs - 1)?.atMs ?? null
}

const endingField = (options: object) =>
  'endAt' in options ? 'endAt' : 'every' in options ? 'every' : 'cron'

/** An actor that was named has the schema of the definitions, where this process knows them. */
export function withSchema(fields: ScheduleFields, definitions: FiringDefinitions | null): ScheduleFields {
  const { actor } = fields
  const payload = typeof actor === 'string' ? schemaOf(definitions, actor) : undefined
  return payload === undefined ? fields : { ...fields, actor: { name: actor, payload } as Actor }
}

/** A factory must be one of the definitions, where this process knows them. */
export function checkFactory(name: string | null, definitions: FiringDefinitions | null): void {
  if (name === null || definitions === null || Object.hasOwn(definitions.payloadFactories, name)) return
  const reason = `"${name}" is in no payloadFactories of the definitions`
  throw new InvalidInputError('OPTION_INVALID', 'payloadFactory', reason)
}

/** What could not be checked here, as the end of a note: whoever fires or works on it has to know it. */
export function uncheckedWords(
  { actor, payloadFactory }: Pick<ScheduleFields, 'actor' | 'payloadFactory'>,
  definitions: FiringDefinitions | null,
): string {
  if (payloadFactory !== null) {
    if (definitions !== null) return ''
    return `; factory "${payloadFactory}" could not be checked here, and fails where cron does not know it`
  }
  if (typeof actor !== 'string') return ''
  return `; its payload could not be checked here: the schema of "${actor}" is the worker's`
}

/** An actor that comes with its definition is made known; a bare name must be. */
export async function requireActor(transaction: Runner, actor: Actor | string): Promise<void> {
  if (typeof actor !== 'string') {
    const definition = storedDefinition(actor.queue, actor.retry)
    await transaction.run(knowActor, { actor: actor.name, definition })
    return
  }
  const known = await transaction.run(readKnownActors, { names: [actor] })
  if (known.length > 0) return
  const reason = `actor "${actor}" is unknown here: give its definition, or sync it first`
  throw new TaskQError('ACTOR_UNKNOWN', reason, { field: 'actor' })
}
