import type { Invocation } from './invocation.ts'
import type { Session } from './session.ts'
import { readOne, readSuccessor } from './state.ts'

/** Something may have become due earlier than what was known: a sleeping run asks again this often. */
const askAgainMs = 5000
/** A sleep longer than this is not worth a connection that others could have. */
const keepConnectionMs = 1000

/**
 * Waits until something falls due inside the window, by the database's clock: next-due pulsing. Answers
 * false when nothing will, when a successor has started, or when the run is to end; then it leaves.
 */
export async function untilDue(
  invocation: Invocation,
  session: Session,
  startedAt: string,
): Promise<boolean> {
  const { sweep, request, ports, windowEndsMs } = invocation
  const { pulse } = sweep
  if (pulse === null || windowEndsMs === undefined) return false
  const restMs = pulse.interval === null ? 0 : request.settings[pulse.interval]
  const notBeforeMs = ports.nowMs() + restMs
  for (;;) {
    if (ports.signal.aborted) return false
    const { isToLeave, now } = await readOne(session.connection, readSuccessor, {
      purpose: sweep.purpose,
      startedAt,
    })
    if (isToLeave) return false
    const { ms } = await readOne(session.connection, pulse.untilNext, {
      after: session.lookedAt ?? startedAt,
    })
    // What was locked and not taken is asked about once: the drain that follows leaves it behind as well.
    session.lookedAt = now
    if (ms === null) return false
    const waitMs = Math.max(Math.ceil(ms), notBeforeMs - ports.nowMs(), 0)
    if (waitMs > invocation.plan.leftMs()) return false
    await rest(invocation, session, Math.min(waitMs, askAgainMs))
    if (waitMs <= askAgainMs) return !ports.signal.aborted
  }
}

/** Sleeps; the connection is there again a second before the end, so that what falls due then meets it. */
async function rest({ sweep, ports }: Invocation, session: Session, ms: number): Promise<void> {
  const endsMs = ports.nowMs() + ms
  if (ms > keepConnectionMs) {
    await session.connection.close()
    await ports.sleep(ms - keepConnectionMs)
    session.connection = await session.connect()
  }
  if ('prepare' in sweep) await sweep.prepare(session.connection)
  await ports.sleep(Math.max(0, endsMs - ports.nowMs()))
}
