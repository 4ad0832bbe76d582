import type { StandardSchemaV1 } from '@standard-schema/spec'
import { jobIds } from '../../client/job-id.ts'
import { payloadText } from '../../client/payload.ts'
import type { Settings } from '../../core/read-settings.ts'
import { fireInstants } from './fire-by-hand.ts'
import { ownPayload, schemaOf } from './own-payload.ts'
import { living, lockLiving, type Reasoned, readOne, requireSame, type VerbPorts } from './verb-ports.ts'

export interface RunNowOptions extends Reasoned {
  /** In place of the schedule's own; the worker holds it to the actor's schema. Null is none. */
  readonly payload?: unknown
}

/** What became of a schedule that was run by hand. */
export interface RanNow {
  readonly name: string
  /**
   * `skipped_open`: an older instance is open and the schedule leaves newer ones out, or its actor takes no
   * more. `deferred`: the actor of a deliverable takes no more, and nothing was written.
   */
  readonly outcome: 'fired' | 'skipped_open' | 'deferred'
  readonly jobId: string | null
  /** Older jobs that it replaced. */
  readonly superseded: number
}

/**
 * Fires a schedule once more at this moment, by its own answer for what is open. Its cursor stays: no instant
 * is fired in place of another. A paused schedule can be run, too.
 */
export async function runScheduleNow(
  ports: VerbPorts,
  name: string,
  { payload, reason }: RunNowOptions = {},
): Promise<RanNow> {
  const { transact, settings, principal } = ports
  const found = await transact(transaction => readOne(transaction, name))
  const held = living(found.held, name)
  const part = isGiven(payload)
    ? { payload: await checked(payload, schemaOf(ports.definitions, held.definition.actor), settings) }
    : await ownPayload(ports, held, new Date(found.nowMs), 0)
  return transact(async transaction => {
    const locked = await lockLiving(transaction, name)
    requireSame(held, locked.held)
    const { now, nowMs } = locked
    const job = jobIds(() => nowMs)()
    const note = 'run by hand; the cursor stays'
    const how = { action: 'run_now', principal, reason: reason ?? null, note } as const
    const instant = { ordinal: 0, job, due: now, at: now, shifted: false, ...part }
    const done = await fireInstants(transaction, locked, [instant], how)
    const outcome = done.fired > 0 ? 'fired' : done.isDeferred ? 'deferred' : 'skipped_open'
    return { name, outcome, jobId: done.jobs[0] ?? null, superseded: done.superseded }
  })
}

const isGiven = (payload: unknown) => payload !== undefined && payload !== null

async function checked(payload: unknown, schema: StandardSchemaV1 | undefined, settings: Settings) {
  return JSON.parse(await payloadText('payload', payload, schema, settings.payloadMaxBytes))
}
