import { firingDefinitionsIn } from '../../../shared/schedules/firing-definitions.ts'
import { firing } from '../../../shared/schedules/tick/tick.ts'
import type { Routine, Sweep } from '../../../shared/sweeper/define.ts'
import type { Runnable } from '../../../shared/sweeper/invocation.ts'
import type { RunPorts, RunRequest } from '../../../shared/sweeper/ports.ts'
import type { DryRunResult, RunResult } from '../../../shared/sweeper/result.ts'
import { run } from '../../../shared/sweeper/run.ts'
import { vitalSigns } from '../../../shared/sweeper/vital-signs.ts'
import { nowMs, sleepUntilStopped } from '../../runtime/budget.ts'
import type { Answer } from '../answer.ts'
import { wholeNumberFlag } from '../arguments.ts'
import { definitionsFlag, definitionsIfAny } from '../definitions-module.ts'
import { describeResult, some } from '../describe-result.ts'
import { exitCodes } from '../exit-code.ts'
import { openDatabase } from '../open-database.ts'
import { operatorOf, reasonFlag } from '../operator.ts'
import { bySetting, routineNamed } from '../routine-argument.ts'
import { runVitalSigns } from '../run-vital-signs.ts'
import type { Call, Verb } from '../verb.ts'
import { watchBatches } from './watch-batches.ts'

/** The client gives a statement up this long after the server should have: then the network is gone. */
const patienceMs = 2000
const secondsMax = 86_400

export const runVerb: Verb = {
  name: 'run',
  summary: 'runs one scheduled function here: drains it and exits',
  words: ['FUNCTION'],
  flags: {
    'max-batches': { value: 'N', doc: 'end after so many committed batches' },
    'batch-size': { value: 'N', doc: 'rows that one batch may touch' },
    'max-seconds': { value: 'N', doc: 'begin no batch after so long' },
    'dry-run': { doc: 'only count what would be taken; write nothing' },
    'reset-breaker': { doc: 'clear the breaker first' },
    definitions: definitionsFlag,
    reason: reasonFlag,
  },
  run: async call => {
    const [name = ''] = call.words
    if (name === vitalSigns.purpose) return runVitalSigns(call)
    const routine = routineNamed(name, [vitalSigns.purpose])
    const request = requestOf(routine, call)
    return answerOf(await run(await runnableOf(routine, call), request, portsOf(routine, call)))
  },
}

/** A sweep is its definition; what fires schedules needs the module that makes payloads, if there is one. */
async function runnableOf(routine: Routine | Sweep, call: Call): Promise<Runnable> {
  if ('arms' in routine) return routine
  return firing(call.settings, firingDefinitionsIn(await definitionsIfAny(call)))
}

function requestOf(sweep: Routine, call: Call): RunRequest {
  const maxBatches = bySetting(call, 'max-batches', 'sweepDrainBatches')
  const batchSize = bySetting(call, 'batch-size', sweep.batchSize)
  const maxSeconds = wholeNumberFlag('max-seconds', call.text('max-seconds'), 1, secondsMax)
  const { principal, reason } = operatorOf(call)
  return {
    trigger: 'manual',
    settings: call.settings,
    requestedBy: principal,
    ...(reason !== null && { reason }),
    ...(maxBatches !== undefined && { maxBatches }),
    ...(batchSize !== undefined && { batchSize }),
    ...(maxSeconds !== undefined && { maxSeconds }),
    ...(call.has('dry-run') && { dryRun: true }),
    ...(call.has('reset-breaker') && { resetBreaker: true }),
  }
}

function portsOf(sweep: Routine, { settings, signal, output }: Call): RunPorts {
  const queryTimeoutMs = settings[sweep.statementTimeout] + patienceMs
  let rowsDone = 0
  const onBatch = (rows: number) => {
    rowsDone += rows
    output.live(`${sweep.purpose}: ${some(rowsDone, 'row')}`)
  }
  return {
    connect: async () => watchBatches(await openDatabase(settings, { queryTimeoutMs }), sweep, onBatch),
    nowMs,
    sleep: ms => sleepUntilStopped(ms, signal),
    // Nothing but its bounds and a signal ends a run here.
    remainingMs: () => Number.POSITIVE_INFINITY,
    signal,
  }
}

/** The object is the one that the Lambda returns. */
function answerOf(result: RunResult | DryRunResult): Answer {
  const isAborted = 'outcome' in result && result.outcome === 'aborted'
  const exitCode = isAborted ? exitCodes.failed : exitCodes.done
  return { json: result, text: describeResult(result), exitCode }
}
