import type { Duration } from '../../shared/core/durations.ts'
import { InvalidInputError, isTaskQError } from '../../shared/core/errors.ts'
import { nameOfPayload, payloadFlag, readPayload } from './payload-argument.ts'
import type { Call, Flags } from './verb.ts'

/** The flags that say what a schedule is. */
export const scheduleFlags = {
  actor: { value: 'NAME', doc: 'whose jobs it makes' },
  cron: { value: 'TEXT', doc: 'when it is due, as in "0 7 * * *"' },
  every: { value: 'DURATION', doc: 'or every so often, as in 15m' },
  timezone: { value: 'ZONE', doc: 'whose wall clock --cron means, as in Europe/Berlin; UTC' },
  missed: { value: 'latest|skip', doc: 'an intent: what of missed instants is fired' },
  'on-open': { value: 'supersede|skip', doc: 'an intent: what a new one does to an open one' },
  deliverable: { doc: 'or each instant is owed: all are fired, none is superseded' },
  payload: payloadFlag,
  'payload-factory': { value: 'NAME', doc: 'or the function of payloadFactories that makes it' },
  queue: { value: 'NAME', doc: "another queue than the actor's" },
  'max-unclaimed-age': { value: 'DURATION', doc: 'pages when nobody claims a job for so long; two periods' },
  'start-at': { value: 'INSTANT', doc: 'no instant before it, as in 2026-03-01T00:00Z' },
  'end-at': { value: 'INSTANT', doc: 'no instant after it' },
  smear: { value: 'DURATION', doc: 'each fires later by its own part of this, at most 1d' },
} as const satisfies Flags

/** Options that an edit can take back. */
const clearable: Readonly<Record<string, string>> = {
  queue: 'queue',
  'max-unclaimed-age': 'maxUnclaimedAge',
  'start-at': 'startAt',
  'end-at': 'endAt',
}

export const clearFlag = {
  value: 'OPTION,…',
  doc: `take back ${Object.keys(clearable).join(', ')}`,
} as const

/** The options that the flags of a call say; what is wrong in one is refused where it is used. */
export async function scheduleOptionsOf(call: Call): Promise<Record<string, unknown>> {
  const { text, has } = call
  const [missed, onOpen] = [text('missed'), text('on-open')]
  const isIntent = missed !== undefined || onOpen !== undefined
  const payload = text('payload') === undefined ? undefined : await readPayload(text('payload'))
  const options = {
    actor: text('actor'),
    cron: text('cron'),
    every: text('every') as Duration | undefined,
    timezone: text('timezone'),
    intent: isIntent ? { missed, onOpen } : undefined,
    deliverable: has('deliverable') ? {} : undefined,
    payload,
    payloadFactory: text('payload-factory'),
    queue: text('queue'),
    maxUnclaimedAge: text('max-unclaimed-age'),
    startAt: instantOf(call, 'start-at'),
    endAt: instantOf(call, 'end-at'),
    smear: text('smear'),
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(given), ...clearedOf(call) }
}

function clearedOf({ text }: Call): Record<string, null> {
  const named = text('clear')?.split(',') ?? []
  const entries = named.map(flag => {
    const option = Object.hasOwn(clearable, flag) ? clearable[flag] : undefined
    if (option === undefined) {
      const known = Object.keys(clearable).join(', ')
      throw new InvalidInputError('USAGE', '--clear', `"${flag}" is none of ${known}`)
    }
    return [option, null] as const
  })
  return Object.fromEntries(entries)
}

const instantPattern = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/

/** The instant of a flag: a date, which begins in UTC, or a time with its offset. */
export function instantOf(call: Call, flag: string): Date | undefined {
  const text = call.text(flag)
  if (text === undefined) return undefined
  const instant = new Date(text)
  if (instantPattern.test(text) && !Number.isNaN(instant.getTime()) && isDay(text.slice(0, 10)))
    return instant
  const reason = `"${text}" is no instant, such as 2026-03-01 or 2026-03-01T07:00:00+01:00`
  throw new InvalidInputError('USAGE', `--${flag}`, reason)
}

/** Whether a calendar has the day: JavaScript takes the 30th of February for the 2nd of March. */
function isDay(text: string): boolean {
  const day = new Date(text)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}

export function requiredInstant(call: Call, flag: string): Date {
  const instant = instantOf(call, flag)
  if (instant !== undefined) return instant
  throw new InvalidInputError('USAGE', `--${flag}`, 'is missing: an instant, such as 2026-03-01T00:00Z')
}

const flagOfField: Readonly<Record<string, string>> = {
  name: 'NAME',
  intent: '--missed',
  'intent.missed': '--missed',
  'intent.onOpen': '--on-open',
  missed: '--drop-missed',
}

/** Names a refused option as it was given here. */
export async function asFlags<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!isTaskQError(error) || error.field === undefined || error.field.startsWith('--')) throw error
    const { code, field } = error
    const isPayload = /^payload(?!Factory)/.test(field)
    const flag = isPayload ? nameOfPayload(field) : flagOf(field)
    const reason = error.message.replace(`${field}: `, '')
    throw new InvalidInputError(code, flag, inFlags(reason), { cause: error })
  }
}

const flagOf = (field: string) => flagOfField[field] ?? `--${kebab(field)}`

const besides = /(so is|stands beside|is not after|is before|an interval is) `?(\w+)`?/

/** The other option of which a reason speaks, as it was given here. */
const inFlags = (reason: string) => reason.replace(besides, (_, says, option) => `${says} ${flagOf(option)}`)

const kebab = (option: string) => option.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
