import { InvalidInputError } from '../../../shared/core/errors.ts'
import { variableName } from '../../../shared/core/read-settings.ts'
import type { Routine } from '../../../shared/sweeper/define.ts'
import { nowMs, sleepUntilStopped } from '../../runtime/budget.ts'
import type { ManualEvent } from '../../runtime/event.ts'
import type { Answer } from '../answer.ts'
import { wholeNumberFlag } from '../arguments.ts'
import { openFunction } from '../deployed-function.ts'
import { type DeployedQueue, findQueue } from '../deployed-queue.ts'
import { count, describeResult, some } from '../describe-result.ts'
import { type Drained, type DrainPorts, drainDeployed } from '../drain-deployed.ts'
import { exitCodes } from '../exit-code.ts'
import { operatorOf, reasonFlag } from '../operator.ts'
import { bySetting, routineNamed } from '../routine-argument.ts'
import type { Call, Verb } from '../verb.ts'

const secondsMax = 86_400

export const drainVerb: Verb = {
  name: 'drain',
  summary: 'drains a deployed function by calls of a minute, until nothing is left to take',
  words: ['FUNCTION'],
  flags: {
    stack: { value: 'NAME', doc: 'the stack that it is deployed with' },
    region: { value: 'NAME', doc: 'where that stack is (AWS_REGION)' },
    'batch-size': { value: 'N', doc: 'rows that one batch may touch' },
    'max-seconds': { value: 'N', doc: 'begin no batch after so long, all calls together' },
    'dry-run': { doc: 'only count what would be taken; write nothing' },
    'reset-breaker': { doc: 'clear the breaker first' },
    reason: { ...reasonFlag, doc: 'why, for its log and the audit' },
  },
  run: async call => {
    const sweep = routineNamed(call.words[0] ?? '')
    const { stack, region, schema } = addressOf(call)
    const asked = eventOf(sweep, call)
    const queue = await findQueue({ stack, region }, schema)
    if (call.signal.aborted) return neverCalled(sweep)
    const sleep = (ms: number) => sleepUntilStopped(ms, call.signal)
    const deployed = await openFunction({ name: nameIn(queue, sweep, stack), region }, sleep)
    try {
      const ports = { invoke: deployed.invoke, onCall: onCall(call), nowMs, sleep, signal: call.signal }
      call.output.live(`${sweep.purpose}: the first call is under way`)
      return answerOf(await drainDeployed(sweep, asked, ports))
    } finally {
      deployed.close()
    }
  },
}

function addressOf(call: Call) {
  const stack = call.text('stack')
  if (stack === undefined) throw new InvalidInputError('USAGE', '--stack', 'is missing: NAME of the stack')
  if (call.text('database-url') !== undefined)
    throw new InvalidInputError('USAGE', '--database-url', 'is not for this verb: the function has its own')
  const schema = call.text('schema') ?? call.environment[variableName('schemaName')]
  return { stack, region: call.text('region'), schema }
}

function eventOf(sweep: Routine, call: Call): ManualEvent {
  const { principal, reason } = operatorOf(call)
  return {
    trigger: 'manual',
    requestedBy: principal,
    reason: reason ?? 'taskq drain',
    batchSize: bySetting(call, 'batch-size', sweep.batchSize),
    maxSeconds: wholeNumberFlag('max-seconds', call.text('max-seconds'), 1, secondsMax),
    dryRun: call.has('dry-run') || undefined,
    resetBreaker: call.has('reset-breaker') || undefined,
  }
}

function nameIn({ names }: DeployedQueue, { purpose }: Routine, stack: string): string {
  const name = names[purpose]
  if (name !== undefined) return name
  const known = Object.keys(names).join(', ')
  const next = `it has ${known}: deploy this version`
  throw new InvalidInputError('USAGE', 'FUNCTION', `stack "${stack}" has no ${purpose} yet; ${next}`)
}

/** Progress: what the calls so far come to. */
function onCall({ output }: Call): DrainPorts['onCall'] {
  return ({ function: purpose, rows, remaining, outcome }, calls) => {
    const left = remaining === null ? '' : `, ${count(remaining)} left`
    output.live(`${purpose}: ${some(rows, 'row')} in ${some(calls, 'call')}${left}; last ${outcome}`)
  }
}

/** `{function, outcome, batches, rows, calls}`: a signal came before there was anything to end. */
function neverCalled({ purpose }: Routine): Answer {
  const json = { function: purpose, outcome: 'stopped', batches: 0, rows: 0, calls: 0 }
  return { json, text: `${purpose} stopped: no call was made` }
}

/** The last result as the function returned it, with the sums over all calls, and `calls`. */
function answerOf(drained: Drained): Answer {
  const outcome = 'outcome' in drained ? drained.outcome : undefined
  const lines = [
    ...describeResult(drained),
    `  in ${some(drained.calls, 'call')}`,
    ...(outcome === 'contended' ? ['  another run has its lock, and goes on with it: try again later'] : []),
    ...(outcome === 'disabled' ? [`  taskq functions enable ${drained.function} switches it on`] : []),
  ]
  const exitCode = outcome === 'aborted' ? exitCodes.failed : exitCodes.done
  return { json: drained, text: lines, exitCode }
}
