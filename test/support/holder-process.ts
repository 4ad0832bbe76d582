import { connectBy } from '../../functions/runtime/driver.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import type { Connection } from '../../shared/sql/connection.ts'
import { codeOf } from '../../shared/sql/failures.ts'
import { run } from '../../shared/sweeper/run.ts'
import { expiredLocks } from '../../shared/sweeps/expired_locks.ts'
import { settingsWith, watched } from './sweeping.ts'
import { useNeonProxy } from './use-neon-proxy.ts'

/** What a holder is told, in the first message to it. */
export interface HolderOrder {
  readonly url: string
  readonly driver: 'pg' | 'neon'
  readonly neonProxy: string | undefined
  readonly settings: Partial<Settings>
  /** Before which call of its connection it says `inside` and waits for a message; null: it does not wait. */
  readonly waitsBefore: 'run' | 'commit' | null
}

/** What became of its two invocations, told in its last message. */
export interface HolderReport {
  /** The outcome of the one that was held, or the code of what it threw. */
  readonly held: string
  /** How many connections it had when that one was over, and whether the first was still usable. */
  readonly connections: number
  readonly isFirstUsable: boolean
  /** The outcome and the rows of the next one. */
  readonly next: { readonly outcome: string; readonly rows: number }
}

/**
 * A process of its own that runs `expired_locks` twice, as two invocations of one Lambda function do. A test
 * freezes or kills it inside the first one's batch.
 */
process.once('message', async ({ url, driver, neonProxy, settings, waitsBefore }: HolderOrder) => {
  useNeonProxy(neonProxy)
  const connectTo = await connectBy(driver)
  const opened: Connection[] = []
  let isInside = false
  const waitInside = async (step: string) => {
    if (step === 'openBatch') isInside = true
    if (!isInside || step !== waitsBefore) return
    isInside = false
    process.send?.('inside')
    await new Promise(resolve => process.once('message', resolve))
  }
  const limits = { connectTimeoutMs: 10_000, queryTimeoutMs: 30_000 }
  const connect = async () => {
    const connection = await connectTo({ url, schema: 'taskq', applicationName: 'holder', ...limits })
    opened.push(connection)
    return opened.length === 1 ? watched(connection, waitInside) : connection
  }
  const ports = {
    connect,
    nowMs: () => performance.now(),
    sleep: () => Promise.resolve(),
    remainingMs: () => 600_000,
    signal: new AbortController().signal,
  }
  const invoke = () => run(expiredLocks, { trigger: 'manual', settings: settingsWith(settings) }, ports)
  const held = await invoke().then(
    result => ('outcome' in result ? result.outcome : 'dry run'),
    (error: unknown) => codeOf(error) ?? String(error),
  )
  const connections = opened.length
  const isFirstUsable = opened[0]?.usable ?? false
  const next = (await invoke()) as HolderReport['next']
  process.send?.({ held, connections, isFirstUsable, next } satisfies HolderReport)
  process.disconnect()
})
