import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidInputError } from '../core/errors.ts'
import { storableText } from '../core/text.ts'
import { jsonText } from './json-text.ts'

/**
 * A payload as the JSON text that is stored. In this order: it must be JSON, pass the actor's schema, be no
 * larger than `bytesMax`, and hold no character that Postgres refuses.
 *
 * The schema is asked about the payload as it reads back from JSON, since that is what the worker will ask
 * it about: a Date that became a text is refused here, and not first in the worker. What is stored is the
 * input, not the schema's output; the worker validates again and hands its handler the output, so that a
 * transform runs once.
 */
export async function payloadText(
  field: string,
  payload: unknown,
  schema: StandardSchemaV1 | undefined,
  bytesMax: number,
): Promise<string> {
  const json = jsonText(payload)
  if (!json.ok && json.kind === 'unserializable') {
    throw new InvalidInputError('PAYLOAD_INVALID', field + json.path, json.reason)
  }
  // An unstorable value is refused last; the schema sees it as it is, for it is JSON.
  const text = json.ok ? json.text : JSON.stringify(payload)
  if (schema !== undefined) {
    const stored: unknown = JSON.parse(text)
    const issue = firstIssue(await schema['~standard'].validate(stored), stored)
    if (issue !== undefined) throw new InvalidInputError('PAYLOAD_INVALID', field + issue.path, issue.message)
  }
  const bytes = Buffer.byteLength(text)
  if (bytes > bytesMax) {
    const reason = `is ${bytes} bytes as JSON, more than the ${bytesMax} of TASKQ_PAYLOAD_MAX_BYTES`
    throw new InvalidInputError('PAYLOAD_TOO_LARGE', field, reason)
  }
  if (!json.ok) throw new InvalidInputError('TEXT_INVALID', field + storableText(json.path, 255), json.reason)
  return text
}

/**
 * The first thing that a schema found wrong with a value: where, and what; undefined where nothing is.
 * Some libraries quote the offending value in their message: then the message is left out, because this
 * one ends in logs.
 */
export function firstIssue(
  result: StandardSchemaV1.Result<unknown>,
  value: unknown,
): { path: string; message: string } | undefined {
  const issue = result.issues?.[0]
  if (issue === undefined) return undefined
  const keys = (issue.path ?? []).map(step => (typeof step === 'object' ? step.key : step))
  const offending = keys.reduce<unknown>((inner, key) => (inner as Container | null)?.[key], value)
  const message = quotes(issue.message, offending) ? 'does not fit the schema' : issue.message
  return { path: storableText(keys.map(pathStep).join(''), 255), message: storableText(message, 1024) }
}

type Container = Readonly<Record<PropertyKey, unknown>>

const pathStep = (key: PropertyKey) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)

/** Shorter values stand in a message by chance: "at least 5" need not quote a 5. */
const quotedLengthMin = 4

function quotes(message: string, value: unknown): boolean {
  if (typeof value !== 'string' && typeof value !== 'number') return false
  const text = String(value)
  return text.length >= quotedLengthMin && message.includes(text)
}
