import { exitCodes } from '../exit-code.ts'
import type { Verb } from '../verb.ts'
import { refuseAddress } from './own-database.ts'

export const devVerb: Verb = {
  name: 'dev',
  summary:
    'everything on this machine until Ctrl-C: a database, the functions on their rules, a worker, jobs',
  words: [],
  flags: {},
  run: async call => {
    refuseAddress(call)
    const { environment, signal, output } = call
    // Loaded late: it brings a database, the CDK and the payloads, and no other verb should pay for them.
    const { dev } = await import('../../dev/dev.ts')
    const result = await dev({
      environment,
      signal,
      onLine: text => output.line(text),
      onLive: text => output.live(text),
    })
    const { enqueued, failure, jobs } = result
    const counts = Object.entries(jobs).map(([status, count]) => `${count} ${status}`)
    const text = failure?.split('\n') ?? `${enqueued} jobs were enqueued: ${counts.join(', ')}`
    return { json: result, text, exitCode: failure === undefined ? exitCodes.done : exitCodes.failed }
  },
}
