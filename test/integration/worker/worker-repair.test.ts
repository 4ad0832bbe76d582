import { beforeEach, describe, expect, it } from 'vitest'
import type { TaskQClient } from '../../../functions/entry/client.ts'
import { Claimer, newPace } from '../../../shared/worker/claimer.ts'
import { Link } from '../../../shared/worker/link.ts'
import type { Trouble } from '../../../shared/worker/ports.ts'
import { useDatabase } from '../../support/database.ts'
import { faultyPorts } from '../../support/faulty.ts'
import { insertJobs, lockedJob, scheduledJob } from '../../support/jobs.ts'
import { settingsWith } from '../../support/sweeping.ts'
import { anything, clientOn, closesWorkers, vitalsOf, worker1, workerOn } from '../../support/working.ts'

const database = useDatabase()
closesWorkers()
let taskq: TaskQClient
const actor = anything()

beforeEach(async () => {
  taskq = await clientOn(database())
  await database().rows(
    'truncate taskq.jobs, taskq.actors, taskq.workers, taskq.queues, taskq.job_events cascade',
  )
})

/** A claimer of the default queue, the names of the statements that it sends, and a clock that tests move. */
function claimerAt({ fails }: { fails?: string } = {}) {
  const sent: string[] = []
  const troubles: Trouble[] = []
  const clock = { ms: 0 }
  const before = (name: string) => {
    sent.push(name)
    if (name === fails) throw new Error('refused')
  }
  const ports = { ...faultyPorts(database(), { before }, troubles), nowMs: () => clock.ms }
  const link = new Link(() => ports.connect(30_000))
  const identity = { ...worker1, hostname: 'test', kind: 'process' as const, queues: ['default'] }
  const claimer = new Claimer(ports, link, identity, ['test'], settingsWith(), newPace())
  const claim = async (batch = 10) => {
    sent.length = 0
    const { jobs } = await claimer.claim(batch)
    return { jobs: jobs.map(job => job.id), sent: sent.filter(name => name !== 'mark-queues') }
  }
  return { claim, clock, claimer, sent, troubles, close: () => link.drop() }
}

describe('a claim that found nothing', () => {
  it('promotes what is due of its own queues, claims again, and takes it in the same breath', async () => {
    const own = await insertJobs(database(), scheduledJob({ due: true }), 3)
    await insertJobs(database(), { ...scheduledJob({ due: true }), queue: `'other'` })
    await insertJobs(database(), scheduledJob())
    const { claim, close } = claimerAt()
    const { jobs, sent } = await claim()
    expect(jobs.toSorted()).toEqual(own.toSorted())
    expect(sent).toEqual(['claim', 'promote-queues', 'expired-locks', 'claim'])
    const left = await database().rows(
      'select queue, status::text from taskq.jobs where locked_by is null order by 1',
    )
    expect(left).toEqual([
      { queue: 'default', status: 'scheduled' },
      { queue: 'other', status: 'scheduled' },
    ])
    await close()
  })

  it('takes back five expired jobs at most, by the sweep’s statement, whatever their queue', async () => {
    await insertJobs(database(), { ...lockedJob({ expired: true }), queue: `'other'` }, 7)
    const { claim, close } = claimerAt()
    expect((await claim()).jobs).toEqual([])
    const states = 'select status::text, count(*)::int as n from taskq.jobs group by 1 order by 1'
    expect(await database().rows(states)).toEqual([
      { status: 'running', n: 2 },
      { status: 'scheduled', n: 5 },
    ])
    expect(await database().rows('select distinct outcome from taskq.job_attempts')).toEqual([
      { outcome: 'crashed' },
    ])
    await close()
  })

  it('repairs once a poll interval and reclaims once in five seconds, however often asked', async () => {
    const { claim, clock, close } = claimerAt()
    expect((await claim()).sent).toEqual(['claim', 'promote-queues', 'expired-locks'])
    expect((await claim()).sent).toEqual(['claim'])
    clock.ms = 999
    expect((await claim()).sent).toEqual(['claim'])
    clock.ms = 1000
    expect((await claim()).sent).toEqual(['claim', 'promote-queues'])
    clock.ms = 4999
    expect((await claim()).sent).toEqual(['claim', 'promote-queues'])
    clock.ms = 5999
    expect((await claim()).sent).toEqual(['claim', 'promote-queues', 'expired-locks'])
    await close()
  })

  it.each(['promote-queues', 'expired-locks', 'mark-queues'])(
    'is not failed by a failing %s',
    async fails => {
      const [id] = await insertJobs(database(), scheduledJob({ due: true }))
      const { claim, claimer, troubles, close } = claimerAt({ fails })
      expect((await claim()).jobs).toEqual(fails === 'promote-queues' ? [] : [id])
      expect(troubles.map(({ during }) => during)).toEqual([fails === 'mark-queues' ? 'presence' : 'repair'])
      expect(claimer.repairErrors).toBe(fails === 'mark-queues' ? 0 : 1)
      await close()
    },
  )
})

describe('a claim, empty or not', () => {
  it('says that its queues are served, in a statement of its own, once in half a minute', async () => {
    const { claim, clock, sent, close } = claimerAt()
    await claim()
    expect(sent[0]).toBe('mark-queues')
    await database().rows(`update taskq.queues set last_claim_at = null`)
    clock.ms = 29_999
    await claim()
    expect(sent).not.toContain('mark-queues')
    clock.ms = 30_000
    await claim()
    const served = 'select name, last_claim_at is not null as served, paused_at from taskq.queues'
    expect(await database().rows(served)).toEqual([{ name: 'default', served: true, paused_at: null }])
    await close()
  })

  it('repairs nothing when it found jobs', async () => {
    await taskq.enqueue(actor, 1)
    const { claim, close } = claimerAt()
    expect((await claim()).sent).toEqual(['claim'])
    await close()
  })
})

describe('an idle worker', () => {
  it('starts a delayed job when it is due and never before, without any sweep', async () => {
    await workerOn(database(), [actor.run(() => 'on time')], { settings: { pollInterval: 1000 } })
    const { id } = await taskq.enqueue(actor, 1, { delay: '1500ms' })
    await expect.poll(() => taskq.getJob(id), { timeout: 20_000 }).toMatchObject({ status: 'succeeded' })
    const [early] = await database().rows(
      'select bool_and(started_at >= due_at) as in_order from taskq.job_attempts',
    )
    expect(early).toEqual({ in_order: true })
  })

  it('of a paused queue says so, and takes its jobs once it is resumed', async () => {
    await database().rows(`insert into taskq.queues (name, paused_at) values ('default', now())`)
    const { id } = await taskq.enqueue(actor, 1)
    const worker = await workerOn(database(), [actor.run(() => 1)])
    await expect.poll(() => vitalsOf(worker)).toMatchObject({ found: 'paused' })
    expect((await taskq.getJob(id))?.status).toBe('pending')
    await database().rows('update taskq.queues set paused_at = null')
    await expect.poll(async () => (await taskq.getJob(id))?.status, { timeout: 20_000 }).toBe('succeeded')
  })

  it('runs no more handlers at a time than it may', async () => {
    await taskq.enqueueMany(
      actor,
      Array.from({ length: 100 }, (_, n) => n),
    )
    let running = 0
    let most = 0
    const handler = async () => {
      most = Math.max(most, ++running)
      await new Promise(resolve => setImmediate(resolve))
      running--
    }
    const worker = await workerOn(database(), [actor.run(handler)], { concurrency: 3 })
    await expect.poll(() => vitalsOf(worker)).toMatchObject({ settled: { succeeded: 100 } })
    expect(most).toBe(3)
  })
})
