import { InvalidInputError } from '../core/errors.ts'
import { checkName } from '../core/names.ts'
import type { Settings } from '../core/read-settings.ts'
import type { Queryable } from '../sql/connection.ts'
import { callerTransaction } from './caller-transaction.ts'
import type { Actor } from './define-actor.ts'
import type { EnqueueManyOptions, EnqueueOptions } from './enqueue-options.ts'
import { type JobsToStore, storedDefinition } from './insert-jobs.ts'
import { unstorableReason } from './json-text.ts'
import { payloadText } from './payload.ts'
import { checkKey, storedOptions } from './stored-options.ts'

/** Jobs that passed every check, in chunks of one statement each, and the transaction to store them in. */
export interface PreparedJobs {
  readonly tx: Queryable | undefined
  readonly chunks: readonly JobsToStore[]
}

/** A statement is built, sent and parsed as one piece of memory at both ends. */
const chunkRowsMax = 5000
const chunkBytesMax = 4 * 1024 * 1024

/** Checks one payload, then the options. Nothing has been sent to the database when a check refuses. */
export async function prepareJob(
  actor: Actor | string,
  payload: unknown,
  options: EnqueueOptions,
  newJobId: () => string,
  settings: Settings,
): Promise<PreparedJobs> {
  const known = checkActor(actor)
  const text = await payloadText('payload', payload, known.schema, settings.payloadMaxBytes)
  const stored = storedOptions(options, ['tx', 'idempotencyKey'])
  const { tx, idempotencyKey: key } = options
  refuseLoneScope(stored, key)
  const keys = key === undefined ? [] : [checkKey('idempotencyKey', key, settings.idempotencyKeyMaxBytes)]
  const { name, definition } = known
  const jobs = { actor: name, definition, ids: [newJobId()], payloads: [text], keys, options: stored }
  return { tx: tx === undefined ? undefined : callerTransaction(tx), chunks: [jobs] }
}

/** The same for many payloads of one call. */
export async function prepareJobs(
  actor: Actor | string,
  payloads: readonly unknown[],
  options: EnqueueManyOptions<never>,
  newJobId: () => string,
  settings: Settings,
): Promise<PreparedJobs> {
  const known = checkActor(actor)
  if (!Array.isArray(payloads)) throw new InvalidInputError('PAYLOAD_INVALID', 'payloads', 'is no list')
  const texts: string[] = []
  for (const [index, payload] of payloads.entries()) {
    texts.push(await payloadText(`payloads[${index}]`, payload, known.schema, settings.payloadMaxBytes))
  }
  const stored = storedOptions(options, ['tx', 'idempotencyKey'])
  const { tx, idempotencyKey: keyOf } = options
  refuseLoneScope(stored, keyOf)
  if (keyOf !== undefined && typeof keyOf !== 'function') {
    throw new InvalidInputError('OPTION_INVALID', 'idempotencyKey', 'is no function of the payload')
  }
  const keys =
    keyOf === undefined
      ? []
      : payloads.map((payload, index) =>
          checkKey(`idempotencyKey[${index}]`, keyOf(payload as never), settings.idempotencyKeyMaxBytes),
        )
  const { name, definition } = known
  const chunks = chunkBounds(texts).map(([from, to]) => ({
    actor: name,
    definition,
    ids: texts.slice(from, to).map(() => newJobId()),
    payloads: texts.slice(from, to),
    keys: keys.slice(from, to),
    options: stored,
  }))
  return { tx: tx === undefined ? undefined : callerTransaction(tx), chunks }
}

function checkActor(actor: Actor | string) {
  if (typeof actor === 'string') {
    const reason = unstorableReason(actor)
    if (reason !== undefined) throw new InvalidInputError('TEXT_INVALID', 'actor', reason)
    checkName('actor', actor)
    return { name: actor, definition: null, schema: undefined }
  }
  if (typeof actor?.name !== 'string' || typeof actor.retry !== 'object') {
    throw new InvalidInputError('OPTION_INVALID', 'actor', 'is neither a name nor made by defineActor')
  }
  return { name: actor.name, definition: storedDefinition(actor.queue, actor.retry), schema: actor.payload }
}

function refuseLoneScope(stored: Readonly<Record<string, unknown>>, key: unknown): void {
  if (stored['scope'] === undefined || key !== undefined) return
  throw new InvalidInputError('OPTION_INVALID', 'idempotencyScope', 'stands without an idempotencyKey')
}

/** Where chunks begin and end: each holds at most so many rows and bytes, and at least one row. */
export function chunkBounds(
  texts: readonly string[],
  rowsMax = chunkRowsMax,
  bytesMax = chunkBytesMax,
): [from: number, to: number][] {
  const bounds: [number, number][] = []
  let from = 0
  let bytes = 0
  for (const [at, text] of texts.entries()) {
    const size = Buffer.byteLength(text)
    if (at > from && (at - from === rowsMax || bytes + size > bytesMax)) {
      bounds.push([from, at])
      from = at
      bytes = 0
    }
    bytes += size
  }
  if (texts.length > from) bounds.push([from, texts.length])
  return bounds
}
