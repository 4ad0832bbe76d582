import { overLimit, pass, postDaily, standOf, tick, writePost } from './schedules.ts'
import { expectEqual, type Step, waitFor, workHere } from './tour.ts'

const name = 'post-to-nobody'
const daysOfOutage = 14

/**
 * The schedule is healthy and its consumer is dead, day after day. Each new instance takes the place of the
 * one before, so nothing piles up; and each takes over since when nobody has come. The tour looks once a day,
 * so that it first finds the limit of 48 hours passed on the third; then it keeps ringing, until somebody
 * claims one.
 */
export const deadConsumer: Step = {
  name: `a consumer is dead for ${daysOfOutage} days`,
  run: async tour => {
    await tour.client.schedules.create(postDaily(name))
    let rangOnDay = 0
    for (let day = 1; day <= daysOfOutage; day++) {
      await pass(tour, name, 1)
      const { byDisposition } = await tick(tour)
      expectEqual(`day ${day}`, byDisposition, day === 1 ? { fired: 1 } : { fired: 1, superseded: 1 })
      const { waitedHours } = await standOf(tour, name)
      const rings = await overLimit(tour)
      expectEqual(`the pager after ${Math.floor(waitedHours ?? 0)} h`, rings, Number((waitedHours ?? 0) > 48))
      if (rings === 1) rangOnDay ||= day
    }
    expectEqual('the day on which the pager rang first', rangOnDay, 3)
    const { jobs, open, chained, newestIsOpen } = await standOf(tour, name)
    expectEqual('jobs that are open', [jobs, open, newestIsOpen], [daysOfOutage, 1, 1])
    expectEqual('each cancelled one points at the next', chained, daysOfOutage - 1)

    await workHere(
      tour,
      writePost.run(() => ({ posted: true })),
      () =>
        waitFor(
          tour,
          'posts',
          () => standOf(tour, name),
          ({ succeeded }) => succeeded === 1,
        ),
    )
    expectEqual('the pager, once it was claimed', await overLimit(tour), 0)
    return {
      instances: jobs,
      'open at the end': open,
      'superseded by the next': chained,
      'the pager rang on day': rangOnDay,
    }
  },
}
