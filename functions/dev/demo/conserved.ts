import { heldCount } from './killed-worker.ts'
import { conservation } from './statements.ts'
import { expectEqual, expectHandledOnce, type Step } from './tour.ts'

/** Counts everything once more: nothing is lost and nothing happened twice, whatever was killed. */
export const conserved: Step = {
  name: 'conservation of jobs, attempts and events',
  run: async tour => {
    const ids = [...tour.enqueued]
    const [seen] = await tour.database.run(conservation, { ids })
    if (seen === undefined) throw new Error('a count always has a row')
    const { jobs, attempts, events, ...wrong } = seen
    expectEqual('jobs', jobs, ids.length)
    expectEqual('attempts: one a job, and one more for each that was reclaimed', attempts, jobs + heldCount)
    expectEqual('events: one an attempt', events, attempts)
    for (const [what, count] of Object.entries(wrong)) expectEqual(what, count, 0)
    await expectHandledOnce(tour, ids)
    return { jobs, attempts, events, lost: 0, twice: 0 }
  },
}
