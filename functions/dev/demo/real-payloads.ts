import { observe } from '../observe.ts'
import { deliveries, receiveWebhook, webhookOf } from '../webhook-jobs.ts'
import { standOf } from './statements.ts'
import { expectEqual, expectHandledOnce, type Step, type Tour, waitFor } from './tour.ts'

/** How many webhooks the package of GitHub's examples holds; another number is another package. */
const deliveriesCount = 329

export const realPayloads: Step = {
  name: 'real payloads, enqueued in one transaction',
  run: async tour => {
    expectEqual('webhooks in the package', deliveries.length, deliveriesCount)
    const ids = await enqueueInOneTransaction(tour)
    const stored = await look(tour, ids)
    expectEqual('transactions that stored them', stored.transactions, 1)
    const worker = await tour.startWorker('work')
    const isDone = ({ succeeded }: { succeeded: number }) => succeeded === ids.length
    const { succeeded } = await waitFor(tour, 'succeeded', () => look(tour, ids), isDone)
    expectEqual('exit code of the stopped worker', await worker.stop(20_000), 0)
    // The handler compared each payload with the package's before it said that it was done.
    await expectHandledOnce(tour, ids)
    return { enqueued: ids.length, transactions: stored.transactions, 'succeeded, payload equal': succeeded }
  },
}

/** The transaction is the caller's: a connection of its own, which the client only uses. */
async function enqueueInOneTransaction(tour: Tour): Promise<string[]> {
  const mine = await observe(tour.deployment, 'taskq-demo-caller')
  try {
    await mine.script('begin')
    const payloads = deliveries.map((_, delivery) => webhookOf(delivery))
    const enqueued = await tour.client.enqueueMany(receiveWebhook, payloads, { tx: mine })
    const ids = enqueued.map(({ id }) => id)
    for (const id of ids) tour.enqueued.add(id)
    expectEqual('jobs that others see before the commit', (await look(tour, ids)).jobs, 0)
    await mine.commit()
    expectEqual('jobs that others see after the commit', (await look(tour, ids)).jobs, ids.length)
    return ids
  } finally {
    await mine.close()
  }
}

async function look({ database }: Tour, ids: readonly string[]) {
  const [stand] = await database.run(standOf, { ids })
  if (stand === undefined) throw new Error('a count always has a row')
  return stand
}
