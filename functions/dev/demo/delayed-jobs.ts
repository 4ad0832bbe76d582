import { receiveWebhook, webhookOf } from '../webhook-jobs.ts'
import { delaysOf } from './statements.ts'
import { CheckFailure, expectEqual, expectHandledOnce, type Step, waitFor } from './tour.ts'

const delayedCount = 40
const stepMs = 75

/** Jobs that fall due one after another, promoted by the pulsing bundle or by the worker's own repair. */
export const delayedJobs: Step = {
  name: 'delayed jobs: none starts early',
  run: async tour => {
    const { cloud } = tour.deployment
    const worker = await tour.startWorker('work')
    const ids: string[] = []
    for (let number = 1; number <= delayedCount; number++) {
      const delay = `${number * stepMs}ms` as const
      const { id } = await tour.client.enqueue(receiveWebhook, webhookOf(number), { delay })
      ids.push(id)
      tour.enqueued.add(id)
    }
    const promotion = cloud.functionOf('promotion')
    const pulsing = cloud.invoke(promotion, cloud.scheduledEvent(promotion)) as Promise<{ rows: number }>
    // Awaited below; until then its failure must not count as unhandled.
    pulsing.catch(() => undefined)
    const look = async () => (await tour.database.run(delaysOf, { ids }))[0]
    const late = await waitFor(tour, 'started', look, seen => seen?.started === delayedCount)
    const { rows } = await pulsing
    expectEqual('early starts', late?.early, 0)
    if (late?.min == null || late.min < 0) throw new CheckFailure(`the least delay is ${late?.min} ms`)
    await expectHandledOnce(tour, ids)
    expectEqual('exit code of the worker', await worker.stop(20_000), 0)
    const ms = (value: number | null | undefined) => Math.round((value ?? 0) * 10) / 10
    return {
      started: late.started,
      early: late.early,
      'promoted by the bundle': rows,
      'late by at least ms': ms(late.min),
      'median ms': ms(late.median),
      'at most ms': ms(late.max),
    }
  },
}
