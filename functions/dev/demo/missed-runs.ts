import { pass, postDaily, reportDaily, sendReport, standOf, tick, writePost } from './schedules.ts'
import { expectEqual, type Step, waitFor, workHere } from './tour.ts'

const post = postDaily('daily-post')
const daysOfOutage = 14

/** Nobody fires schedules for two weeks; then one tick decides, by what each schedule says of missed runs. */
export const missedRuns: Step = {
  name: `nothing fires for ${daysOfOutage} days`,
  run: async tour => {
    for (const schedule of [post, reportDaily]) {
      await tour.client.schedules.create(schedule)
      await pass(tour, schedule.name, daysOfOutage)
    }
    const { byDisposition } = await tick(tour)
    expectEqual('fired by one tick', byDisposition, { fired: 1 + daysOfOutage })
    const posts = await standOf(tour, post.name)
    expectEqual('posts, of which the newest is the only one', [posts.jobs, posts.newestIsOpen], [1, 1])
    expectEqual('posts that were recorded as missed', posts.missed, daysOfOutage - 1)
    const reports = await standOf(tour, reportDaily.name)
    expectEqual('reports, missed and owed', [reports.missed, reports.open], [0, daysOfOutage])

    const sent = async () => (await standOf(tour, reportDaily.name)).succeeded
    await workHere(
      tour,
      sendReport.run(() => ({ sent: true })),
      () => waitFor(tour, 'reports', sent, done => done === daysOfOutage),
    )
    const posted = async () => (await standOf(tour, post.name)).succeeded
    await workHere(
      tour,
      writePost.run(() => ({ posted: true })),
      () => waitFor(tour, 'posts', posted, done => done === 1),
    )
    return {
      'posts fired': posts.jobs,
      'posts missed': posts.missed,
      'reports fired, all of them': reports.jobs,
    }
  },
}
