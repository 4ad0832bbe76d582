import type { StandardSchemaV1 } from '@standard-schema/spec'
import { payloadText } from '../client/payload.ts'

/** What a payload factory is told about the instant that it makes a payload for. */
export interface Occasion {
  /** The schedule's name. */
  readonly schedule: string
  /** The instant that the job is for. */
  readonly dueAt: Date
  /** How late it fires, by the database's clock. */
  readonly latenessMs: number
  /** Aborted when its time is over: what it returns then is not used. */
  readonly signal: AbortSignal
}

/**
 * Makes the payload of one instance, outside any transaction. One that throws, or takes longer than
 * `TASKQ_CRON_PAYLOAD_FACTORY_TIMEOUT`, counts against its schedule; the instant stays owed. It may be called
 * again for the same instant, because a tick that fails is rolled back whole.
 *
 * @example
 * export const payloadFactories = {
 *   digest: async ({ dueAt, signal }) => ({ stories: await topStories(dueAt, { signal }) }),
 * }
 */
export type PayloadFactory = (occasion: Occasion) => unknown

/** What of a definitions module a tick needs. */
export interface FiringDefinitions {
  readonly payloadFactories: Readonly<Record<string, PayloadFactory>>
  /** The payload schemas of its actors, by their names. */
  readonly schemas: Readonly<Record<string, StandardSchemaV1>>
}

export interface MakingBounds {
  readonly timeoutMs: number
  readonly payloadBytesMax: number
}

/** How long a factory whose time is over is listened to still: another may have blocked the process. */
const graceMs = 100

/** Makes one payload as JSON, or throws why there is none: what it threw, its timeout, a wrong payload. */
export async function makePayload(
  factory: PayloadFactory,
  occasion: Omit<Occasion, 'signal'>,
  schema: StandardSchemaV1 | undefined,
  { timeoutMs, payloadBytesMax }: MakingBounds,
): Promise<unknown> {
  const signal = AbortSignal.timeout(timeoutMs)
  const late = () => new Error(`its payload factory took over ${timeoutMs} ms`)
  const tooLate = new Promise<never>((_, reject) => {
    // Its own time may have gone by while another one blocked the process: what has come meanwhile counts.
    signal.addEventListener('abort', () => setTimeout(() => reject(late()), graceMs))
  })
  const call = async () => {
    const begunMs = performance.now()
    const made = factory({ ...occasion, signal })
    // One that blocks the process is over before any timer of ours could tell.
    if (performance.now() - begunMs > timeoutMs) throw late()
    return made
  }
  const made = await Promise.race([call(), tooLate])
  return JSON.parse(await payloadText('payload', made, schema, payloadBytesMax))
}
