import { exitCodes } from '../exit-code.ts'
import type { Verb } from '../verb.ts'
import { refuseAddress } from './own-database.ts'

export const demoVerb: Verb = {
  name: 'demo',
  summary: 'a tour of a minute with an embedded database: real payloads, a killed worker, checks',
  words: [],
  flags: {},
  run: async call => {
    refuseAddress(call)
    const { environment, signal, output } = call
    // Loaded late: it brings a database, the CDK and the payloads, and no other verb should pay for them.
    const { demo } = await import('../../dev/demo/demo.ts')
    const result = await demo({ environment, signal, onLine: text => output.line(text) })
    const failed = result.steps.find(step => !step.passed)
    const text = result.passed
      ? `demo passed in ${result.seconds} s`
      : `demo failed: ${failed?.name}: ${failed?.error}`.split('\n')
    return { json: result, text, exitCode: result.passed ? exitCodes.done : exitCodes.failed }
  },
}
