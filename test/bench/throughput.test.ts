import { describe, it } from 'vitest'
import type { TaskQClient } from '../../functions/entry/client.ts'
import { createClient } from '../../functions/entry/client.ts'
import { runWorker } from '../../functions/entry/worker.ts'
import { openDatabase, type TestDatabase } from '../support/database.ts'
import { settingsWith } from '../support/sweeping.ts'
import { anything } from '../support/working.ts'
import { median, print } from './measure.ts'

const rounds = 3
const actor = anything('no-op')

type Measure = (taskq: TaskQClient, database: TestDatabase) => Promise<number>

/** Jobs a second, the median of some rounds, each on a fresh database. */
async function rate(name: string, jobs: number, measure: Measure): Promise<void> {
  const rates: number[] = []
  for (let round = 0; round < rounds; round++) {
    const database = await openDatabase()
    const taskq = await createClient({ settings: settingsWith({ databaseUrl: database.url }) })
    try {
      await taskq.enqueue(actor, 'warm')
      await database.rows('delete from taskq.jobs')
      await database.rows('checkpoint')
      rates.push((jobs * 1000) / (await measure(taskq, database)))
    } finally {
      await taskq.close()
      await database.close()
    }
  }
  const all = rates.map(value => Math.round(value).toLocaleString('en')).join(', ')
  print(`${name}: ${Math.round(median(rates)).toLocaleString('en')} jobs/s (${all})`)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now()
  await work()
  return performance.now() - beganMs
}

/** Enqueues one by one, so many at a time. */
const inFlight = (jobs: number, lanes: number): Measure => {
  return taskq =>
    timed(async () => {
      let left = jobs
      const lane = async () => {
        while (left-- > 0) await taskq.enqueue(actor, { n: left })
      }
      await Promise.all(Array.from({ length: lanes }, lane))
    })
}

const payloads = (jobs: number) => Array.from({ length: jobs }, (_, n) => ({ n }))

/** Runs jobs that do nothing, from the start of the worker to the last one settled. */
const noOps = (jobs: number, concurrency: number, handler: () => unknown): Measure => {
  return async (taskq, database) => {
    await taskq.enqueueMany(actor, payloads(jobs))
    await database.rows('vacuum analyze taskq.jobs')
    const settings = settingsWith({ databaseUrl: database.url })
    const allCalled = Promise.withResolvers<void>()
    let calls = 0
    const counted = () => {
      if (++calls === jobs) allCalled.resolve()
      return handler()
    }
    return timed(async () => {
      const worker = await runWorker({ actors: [actor.run(counted)], concurrency, settings })
      await allCalled.promise
      await worker.stop()
    })
  }
}

describe('throughput', () => {
  it('of enqueue', async () => {
    await rate('enqueue, 1 in flight', 2000, inFlight(2000, 1))
    await rate('enqueue, 10 in flight', 4000, inFlight(4000, 10))
    await rate('enqueueMany, 10,000 in one call', 10_000, taskq =>
      timed(() => taskq.enqueueMany(actor, payloads(10_000))),
    )
  })

  it('of claim and complete', async () => {
    await rate(
      '10,000 no-ops, concurrency 10, defaults',
      10_000,
      noOps(10_000, 10, () => undefined),
    )
    await rate(
      '10,000 no-ops, one at a time',
      10_000,
      noOps(10_000, 1, () => undefined),
    )
    const short = () => new Promise(resolve => setTimeout(resolve, 5))
    await rate('2,000 jobs of 5 ms, concurrency 10 (at most 2,000 jobs/s)', 2000, noOps(2000, 10, short))
  })
})
