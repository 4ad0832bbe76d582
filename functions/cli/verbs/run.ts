import { InvalidInputError } from '../../../shared/core/errors.ts'
import { settingsTable } from '../../../shared/core/settings.ts'
import type { Sweep } from '../../../shared/sweeper/define.ts'
import type { RunPorts, RunRequest } from '../../../shared/sweeper/ports.ts'
import type { DryRunResult, RunResult } from '../../../shared/sweeper/result.ts'
import { remainingMax, run } from '../../../shared/sweeper/run.ts'
import { sweeps } from '../../../shared/sweeps/index.ts'
import { nowMs, sleepUntilStopped } from '../../runtime/budget.ts'
import type { Answer } from '../answer.ts'
import { wholeNumberFlag } from '../arguments.ts'
import { exitCodes } from '../exit-code.ts'
import { openDatabase } from '../open-database.ts'
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
  },
  run: async call => {
    const sweep = sweepNamed(call.words[0] ?? '')
    const request = requestOf(sweep, call)
    return answerOf(await run(sweep, request, portsOf(sweep, call)))
  },
}

function sweepNamed(name: string): Sweep {
  const found = sweeps.find(sweep => sweep.purpose === name)
  if (found !== undefined) return found
  const known = sweeps.map(sweep => sweep.purpose).join(', ')
  throw new InvalidInputError('USAGE', 'FUNCTION', `"${name}" is none; there are ${known}`)
}

function requestOf(sweep: Sweep, call: Call): RunRequest {
  const maxBatches = bySetting(call, 'max-batches', 'sweepDrainBatches')
  const batchSize = bySetting(call, 'batch-size', sweep.batchSize)
  const maxSeconds = wholeNumberFlag('max-seconds', call.text('max-seconds'), 1, secondsMax)
  return {
    trigger: 'manual',
    settings: call.settings,
    ...(maxBatches !== undefined && { maxBatches }),
    ...(batchSize !== undefined && { batchSize }),
    ...(maxSeconds !== undefined && { maxSeconds }),
    ...(call.has('dry-run') && { dryRun: true }),
  }
}

/** A flag that stands for a setting has the setting's range. */
function bySetting(call: Call, flag: string, setting: 'sweepDrainBatches' | Sweep['batchSize']) {
  const text = call.text(flag)
  if (text === undefined) return undefined
  const read = settingsTable[setting].schema.safeParse(text)
  if (read.success) return read.data
  throw new InvalidInputError('USAGE', `--${flag}`, read.error.issues[0]?.message ?? 'is wrong')
}

function portsOf(sweep: Sweep, { settings, signal, output }: Call): RunPorts {
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
  if ('dryRun' in result) {
    return { json: result, text: `${result.function} would take ${some(result.eligible, 'row')}` }
  }
  const exitCode = result.outcome === 'aborted' ? exitCodes.failed : exitCodes.done
  return { json: result, text: describe(result), exitCode }
}

const count = (rows: number) => rows.toLocaleString('en-US')
const some = (rows: number, noun: string, ending = 's') => `${count(rows)} ${noun}${rows === 1 ? '' : ending}`

function describe(result: RunResult): string {
  const { outcome, rows, batches, batchSize, durationMs, longestBatchMs, remaining } = result
  const ways = Object.entries(result.byDisposition ?? {}).map(([way, moved]) => `${count(moved)} ${way}`)
  const least = remaining === remainingMax ? 'at least ' : ''
  const left = remaining === null ? '' : `; ${least}${count(remaining)} left`
  const work = `${some(rows, 'row')} in ${some(batches, 'batch', 'es')}`
  return [
    `${result.function} ${outcome}: ${work} of at most ${batchSize}${left}`,
    `  ${(durationMs / 1000).toFixed(2)} s, the longest batch ${longestBatchMs.toFixed(1)} ms`,
    ...(ways.length > 0 ? [`  ${ways.join(', ')}`] : []),
  ].join('\n')
}
