import * as z from 'zod/mini'
import { InvalidInputError } from '../../shared/core/errors.ts'
import { settingsTable } from '../../shared/core/settings.ts'
import type { Routine } from '../../shared/sweeper/define.ts'

/** What an operator may ask of one invocation; what is absent is as the settings say. */
export interface ManualEvent {
  readonly trigger: 'manual'
  /** Who asks, and why: both stand in the log, and in the audit of what is changed beside the rows. */
  readonly requestedBy: string
  readonly reason: string
  readonly maxBatches?: number | undefined
  readonly batchSize?: number | undefined
  readonly maxSeconds?: number | undefined
  /** Clears the breaker first; whoever asks stands in the audit. */
  readonly resetBreaker?: boolean | undefined
  /** Only counts; nothing at all is written then, whatever else is asked. */
  readonly dryRun?: boolean | undefined
}

/** An event that a scheduled function accepts. */
export type SweepEvent = { readonly trigger: 'schedule' } | { readonly trigger: 'smoke' } | ManualEvent

/** What the watcher may be asked: it has neither batches nor a breaker, and writes nothing anyway. */
export type WatchEvent =
  | Exclude<SweepEvent, ManualEvent>
  | Pick<ManualEvent, 'trigger' | 'requestedBy' | 'reason' | 'dryRun'>

/** Lambda ends an invocation after a quarter of an hour, whatever it is asked for. */
const secondsMax = 900

/** A text that a log line and a terminal can show. */
const told = (charactersMax: number) =>
  z
    .string({ error: 'is missing, or no text' })
    .check(
      z.minLength(1, { error: 'is empty' }),
      z.maxLength(charactersMax, { error: `is longer than ${charactersMax} characters` }),
      z.regex(/^\P{Cc}*$/u, { error: 'holds a control character' }),
    )

export const requesterCharactersMax = 255

/** Why something is asked for. */
export const reasonText = told(1000)

/** A number in the range of a setting, so that an event can ask for nothing that a setting could not. */
const within = (setting: 'sweepDrainBatches' | Routine['batchSize']) => {
  const { schema, range } = settingsTable[setting]
  const error = `is not a whole number ${range}`
  return z.optional(
    z.number({ error }).check(z.refine(value => schema.safeParse(String(value)).success, { error })),
  )
}

const yesOrNo = z.optional(z.boolean({ error: 'is neither true nor false' }))

const seconds = { error: `is not a whole number 1..${secondsMax}` }

const asked = {
  trigger: z.literal('manual'),
  requestedBy: told(requesterCharactersMax),
  reason: reasonText,
  dryRun: yesOrNo,
}

const manual = (routine: Routine) =>
  z.strictObject({
    ...asked,
    maxBatches: within('sweepDrainBatches'),
    batchSize: within(routine.batchSize),
    maxSeconds: z.optional(z.int(seconds).check(z.minimum(1, seconds), z.maximum(secondsMax, seconds))),
    resetBreaker: yesOrNo,
  })

const manualWatch = z.strictObject(asked)

const smoke = z.strictObject({ trigger: z.literal('smoke') })

/** EventBridge's own envelope; it may grow members, so its others are neither read nor refused. */
const scheduled = z.object({
  source: z.literal('aws.events', { error: 'is not "aws.events"' }),
  'detail-type': z.literal('Scheduled Event', { error: 'is not "Scheduled Event"' }),
})

/**
 * Reads the event of a scheduled function. Anything else than EventBridge's scheduled event, a smoke event or
 * a manual one is an error with code `EVENT_INVALID` whose `field` is the member at fault.
 *
 * @example
 * readEvent(promotion, { trigger: 'manual', requestedBy: 'ada', reason: 'backlog after an outage' })
 */
export function readEvent(routine: Routine, event: unknown): SweepEvent {
  return readBy(manual(routine), event)
}

/** Reads the event of the watcher in the same way. */
export function readWatchEvent(event: unknown): WatchEvent {
  return readBy(manualWatch, event)
}

function readBy<Manual>(manualSchema: z.ZodMiniType<Manual>, event: unknown) {
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    throw new InvalidInputError('EVENT_INVALID', 'event', 'is no object')
  }
  if (!('trigger' in event) && 'source' in event) {
    accept(scheduled, event)
    return { trigger: 'schedule' } as const
  }
  const { trigger } = event as { trigger?: unknown }
  if (trigger === 'smoke') return accept(smoke, event)
  if (trigger === 'manual') return accept(manualSchema, event)
  const got = trigger === undefined ? 'is missing' : `is ${JSON.stringify(trigger)}`
  throw new InvalidInputError(
    'EVENT_INVALID',
    'trigger',
    `${got}: send "smoke" or "manual", or let the rule send EventBridge's scheduled event`,
  )
}

function accept<T>(schema: z.ZodMiniType<T>, event: object): T {
  const read = schema.safeParse(event)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const [unknown] = issue?.code === 'unrecognized_keys' ? issue.keys : []
  if (unknown !== undefined)
    throw new InvalidInputError('EVENT_INVALID', unknown, 'is no member of this event')
  throw new InvalidInputError(
    'EVENT_INVALID',
    String(issue?.path[0] ?? 'event'),
    issue?.message ?? 'is wrong',
  )
}
