import type { RunResult } from '../../../shared/sweeper/result.ts'
import { receiveWebhook, webhookOf } from '../webhook-jobs.ts'
import { standOf } from './statements.ts'
import { expectEqual, expectHandledOnce, type Step, type Tour, waitFor } from './tour.ts'

/** As many as one worker holds at a time, by the tour's settings. */
export const heldCount = 200

/**
 * A worker dies with its hands full and nobody else works. So nothing but the scheduled functions, the very
 * bundles that are deployed, can bring its jobs back: one reclaims them when their leases have ended, the
 * other makes them ready when their retry is due.
 */
export const killedWorker: Step = {
  name: `a worker is killed while it holds ${heldCount} jobs`,
  run: async tour => {
    const payloads = Array.from({ length: heldCount }, (_, number) => webhookOf(number))
    const ids = (await tour.client.enqueueMany(receiveWebhook, payloads)).map(({ id }) => id)
    for (const id of ids) tour.enqueued.add(id)
    const look = async () => (await tour.database.run(standOf, { ids }))[0] ?? noStand
    const reaches = (what: keyof typeof noStand) =>
      waitFor(tour, what, look, seen => seen[what] === heldCount)

    const doomed = await tour.startWorker('hold')
    await reaches('running')
    await doomed.kill()
    const stand = await reaches('expired')
    expectEqual('ended before their holder died', stand.succeeded, 0)

    const reclaim = await invoke(tour, 'expired_locks')
    expectEqual('reclaimed by the bundle of expired_locks', reclaim.byDisposition, { repended: heldCount })
    expectEqual('waiting for their retry', (await look()).scheduled, heldCount)
    const promote = await invoke(tour, 'promotion')
    expectEqual('promoted by the bundle of promotion', promote.rows, heldCount)

    const second = await tour.startWorker('work')
    const done = await reaches('succeeded')
    expectEqual('attempts of each', [done.attempts_min, done.attempts_max], [2, 2])
    expectEqual('exit code of the second worker', await second.stop(20_000), 0)
    await expectHandledOnce(tour, ids)
    const { batches, longestBatchMs } = reclaim
    return {
      'killed, by SIGKILL': `process ${doomed.pid}`,
      reclaimed: reclaim.rows,
      batches,
      'longest batch ms': Math.round(longestBatchMs),
      promoted: promote.rows,
      'finished by another worker': done.succeeded,
    }
  },
}

const noStand = { running: 0, expired: 0, scheduled: 0, succeeded: 0, attempts_min: 0, attempts_max: 0 }

/** Invokes a function's bundle as its rule would: with EventBridge's scheduled event. */
async function invoke({ deployment: { cloud } }: Tour, purpose: string): Promise<RunResult> {
  const definition = cloud.functionOf(purpose)
  const result = (await cloud.invoke(definition, cloud.scheduledEvent(definition))) as RunResult
  expectEqual(`outcome of ${purpose}`, result.outcome, 'drained')
  return result
}
