import { durationMs, formatDuration } from '../core/durations.ts'
import { InvalidInputError } from '../core/errors.ts'
import { byteLength, checkName } from '../core/names.ts'
import type { JobOptions } from './enqueue-options.ts'
import { jsonText, unstorableReason } from './json-text.ts'

/** The options as insert_jobs reads them. */
export type StoredOptions = Readonly<Record<string, unknown>>

/** Ten years: beyond them an instant of the database's could overflow inside the caller's transaction. */
const durationMsMax = 3650 * 86_400_000
/** A shorter one would pass between two beats of a healthy worker. */
const heartbeatTimeoutMsMin = 1000
const scopeBytesMax = 255
const fairnessKeyBytesMax = 1024
const tagsMax = 100
const metadataBytesMax = 16_384
const priorityMax = 2 ** 31 - 1
const traceparentPattern = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]{0,440})?$/

type Given = { [Name in keyof JobOptions]-?: NonNullable<JobOptions[Name]> }
type Check<T> = (value: T, field: string) => StoredOptions

/** One check an option: it refuses, or says what is stored. */
const checks: { [Name in keyof Given]: Check<Given[Name]> } = {
  queue: (value, field) => {
    checkText(field, value)
    checkName(field, value)
    return { queue: value }
  },
  delay: (value, field) => ({ delayMs: span(field, value, 0) }),
  runAt: (value, field) => ({ runAt: instant(field, value) }),
  priority: (value, field) => {
    if (!Number.isInteger(value) || Math.abs(value) > priorityMax) {
      throw refused(field, `is not a whole number -${priorityMax}..${priorityMax}`)
    }
    return { priority: value }
  },
  idempotencyScope: (value, field) => ({ scope: boundedText(field, value, 0, scopeBytesMax) }),
  scheduleToClose: (value, field) => ({ scheduleToCloseMs: span(field, value, 1) }),
  startToClose: (value, field) => ({ startToCloseMs: span(field, value, 1) }),
  heartbeatTimeout: (value, field) => ({ heartbeatTimeoutMs: span(field, value, heartbeatTimeoutMsMin) }),
  tags: (value, field) => ({ tags: tagList(field, value) }),
  metadata: (value, field) => ({ metadata: jsonObject(field, value) }),
  fairnessKey: (value, field) => ({ fairnessKey: boundedText(field, value, 1, fairnessKeyBytesMax) }),
  traceparent: (value, field) => {
    if (typeof value === 'string' && traceparentPattern.test(value)) return { traceparent: value }
    throw refused(field, 'is no W3C traceparent')
  },
}

/**
 * Checks the options of one call and gives what is stored; `rest` are the options that the caller of this
 * reads itself. The first wrong one is an error with code `OPTION_INVALID` or `TEXT_INVALID` and its `field`.
 */
export function storedOptions(options: object, rest: readonly string[]): StoredOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw refused('options', 'is no object')
  }
  const given = options as Readonly<Record<string, unknown>>
  const stored = Object.keys(given).map(name => {
    const value = given[name]
    if (value === undefined || rest.includes(name)) return {}
    const check = Object.hasOwn(checks, name) ? (checks[name as keyof Given] as Check<unknown>) : undefined
    if (check === undefined) {
      throw refused(name, `is no option; there are ${[...Object.keys(checks), ...rest].join(', ')}`)
    }
    return check(value, name)
  })
  if (given['delay'] !== undefined && given['runAt'] !== undefined) {
    throw refused('runAt', 'stands beside delay: a job falls due once')
  }
  return outliving(Object.assign({}, ...stored))
}

/** Refuses a job that would be too late before it is due. */
function outliving(stored: StoredOptions): StoredOptions {
  const { delayMs, scheduleToCloseMs } = stored as { delayMs?: number; scheduleToCloseMs?: number }
  if (scheduleToCloseMs !== undefined && scheduleToCloseMs <= (delayMs ?? 0)) {
    throw refused('scheduleToClose', 'ends before the delay does, so that the job could never start')
  }
  return stored
}

/** A key of the caller's: not empty, within its bytes, storable. */
export function checkKey(field: string, value: unknown, bytesMax: number): string {
  return boundedText(field, value, 1, bytesMax)
}

function boundedText(field: string, value: unknown, bytesMin: number, bytesMax: number): string {
  const text = checkText(field, value)
  const bytes = byteLength(text)
  if (bytes < bytesMin) throw refused(field, 'is empty')
  if (bytes > bytesMax) throw refused(field, `is ${bytes} bytes, more than ${bytesMax}`)
  return text
}

function checkText(field: string, value: unknown): string {
  if (typeof value !== 'string') throw refused(field, 'is no text')
  const reason = unstorableReason(value)
  if (reason !== undefined) throw new InvalidInputError('TEXT_INVALID', field, reason)
  return value
}

function span(field: string, value: unknown, msMin: number): number {
  if (typeof value !== 'string') throw refused(field, 'is not a duration such as 250ms, 90s, 5m or 7d')
  const ms = durationMs(field, value)
  if (ms < msMin)
    throw refused(field, msMin === 1 ? 'is not above 0' : `is shorter than ${formatDuration(msMin)}`)
  if (ms > durationMsMax) throw refused(field, 'is longer than 3650d')
  return ms
}

function instant(field: string, value: unknown): string {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) throw refused(field, 'is no valid Date')
  const year = value.getUTCFullYear()
  if (year < 1970 || year > 9999) throw refused(field, 'lies outside the years 1970 to 9999')
  return value.toISOString()
}

function tagList(field: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw refused(field, 'is no list')
  if (value.length > tagsMax) throw refused(field, `holds more than ${tagsMax}`)
  return value.map((tag, index) => {
    const text = checkText(`${field}[${index}]`, tag)
    checkName(`${field}[${index}]`, text)
    return text
  })
}

function jsonObject(field: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refused(field, 'is no object')
  const json = jsonText(value)
  if (!json.ok) {
    const code = json.kind === 'unstorable' ? 'TEXT_INVALID' : 'OPTION_INVALID'
    throw new InvalidInputError(code, field + json.path, json.reason)
  }
  const bytes = Buffer.byteLength(json.text)
  if (bytes > metadataBytesMax)
    throw refused(field, `is ${bytes} bytes as JSON, more than ${metadataBytesMax}`)
  return JSON.parse(json.text)
}

function refused(field: string, reason: string): InvalidInputError {
  return new InvalidInputError('OPTION_INVALID', field, reason)
}
