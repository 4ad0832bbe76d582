import * as z from 'zod'
import { arg, schema, sql, statement } from '../../../shared/sql/statement.ts'
import { bool, int4, text, uuid } from '../../../shared/sql/types.ts'
import { defineActor } from '../../entry/client.ts'
import { expectEqual, type Step, waitFor, workHere } from './tour.ts'

const delegated = defineActor({
  name: 'delegated-work',
  queue: 'delegated',
  payload: z.object({ promisedTo: z.string() }),
  retry: { kind: 'non_retryable' },
})

/** How far it came, as its handler would have said. */
export const noteProgress = statement(
  'demo-progress',
  {},
  sql`update ${schema}.jobs set progress = '{"step": 3}', progress_seq = 3 where id = ${arg('id', uuid)}`,
)

export const progressOf = statement(
  'demo-progress-of',
  { status: text, attempts: int4, hasProgress: bool, error: text.orNull },
  sql`select j.status::text as status, j.attempt as attempts, j.progress is not null as "hasProgress",
    j.error_message as error
  from ${schema}.jobs j where j.id = ${arg('id', uuid)}`,
)

/**
 * A piece of work that somebody was promised had begun, and failed half-way on an error that passed. It is no
 * superseded intent: it goes back into the queue, with its budget whole and its progress reset.
 */
export const redriven: Step = {
  name: 'work that failed on a passing error is redriven',
  run: async tour => {
    const { id } = await tour.client.enqueue(delegated, { promisedTo: 'ada' })
    const look = async () => (await tour.database.run(progressOf, { id }))[0]
    const reaches = (status: string) => () =>
      waitFor(tour, `job that is ${status}`, look, seen => seen?.status === status)
    const fails = delegated.run(() => {
      throw Object.assign(new Error('getaddrinfo EAI_AGAIN api.example.com'), { code: 'EAI_AGAIN' })
    })
    const failed = await workHere(tour, fails, reaches('failed'))
    await tour.database.run(noteProgress, { id })
    const { from } = await tour.client.retry(id)
    const back = await look()
    expectEqual(
      'redriven',
      [from, back?.status, back?.hasProgress, back?.error],
      ['failed', 'pending', false, null],
    )
    const done = await workHere(
      tour,
      delegated.run(() => ({ kept: true })),
      reaches('succeeded'),
    )
    expectEqual('attempts, of which the first is kept', done?.attempts, 2)
    return { 'failed on': failed?.error ?? '', 'progress reset': 'yes', attempts: done?.attempts ?? 0 }
  },
}
