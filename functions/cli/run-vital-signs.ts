import { InvalidInputError } from '../../shared/core/errors.ts'
import { worstMax } from '../../shared/sweeper/gauge.ts'
import { expectedOf } from '../../shared/sweeper/scheduled.ts'
import { gaugeTimeoutMs, type VitalSigns, vitalSigns, watch } from '../../shared/sweeper/vital-signs.ts'
import { routines } from '../../shared/sweeps/index.ts'
import { nowMs } from '../runtime/budget.ts'
import type { Answer } from './answer.ts'
import { openDatabase } from './open-database.ts'
import type { Call } from './verb.ts'

/** The client gives a statement up this long after the server should have: then the network is gone. */
const patienceMs = 2000

/** What bounds a sweep: the watcher has neither batches nor a breaker. */
const ofSweeps = ['max-batches', 'batch-size', 'max-seconds', 'reset-breaker']

/** Reads the vital signs here and publishes nothing; the object is the one that the Lambda returns. */
export async function runVitalSigns(call: Call): Promise<Answer> {
  const meaningless = ofSweeps.find(flag => call.text(flag) !== undefined || call.has(flag))
  if (meaningless !== undefined) {
    throw new InvalidInputError('USAGE', `--${meaningless}`, `means nothing to ${vitalSigns.purpose}`)
  }
  const { settings, output } = call
  const signs = await watch(
    vitalSigns,
    { trigger: 'manual', settings, expected: expectedOf(routines, settings) },
    {
      connect: () => openDatabase(settings, { queryTimeoutMs: gaugeTimeoutMs + patienceMs }),
      nowMs,
      // Each statement has its bound; nothing else ends a run here.
      remainingMs: () => Number.POSITIVE_INFINITY,
      unread: (gauge, error) => output.note(`${gauge} could not be read: ${String(error)}`),
    },
  )
  return { json: signs, text: describe(signs) }
}

/** So many of what a gauge is about stand below it; the object has up to fifty. */
const shownMax = 5

function describe({ function: purpose, outcome, gauges, failed, worst }: VitalSigns): string[] {
  const told = Object.entries(gauges).filter(([, value]) => value !== 0)
  const values = told.flatMap(([name, value]) => [
    `  ${name} ${value.toLocaleString('en-US')}`,
    ...listed(worst[name] ?? []).map(line => `    ${line}`),
  ])
  const unread = failed.length === 0 ? '' : `; not read: ${failed.join(', ')}`
  return [
    `${purpose} ${outcome}: ${told.length === 0 ? 'nothing to tell' : 'told below'}${unread}`,
    ...values,
  ]
}

function listed(worst: VitalSigns['worst'][string]): string[] {
  const more = worst.length - shownMax
  const atLeast = worst.length >= worstMax ? 'at least ' : ''
  return [...worst.slice(0, shownMax).map(pairs), ...(more > 0 ? [`and ${atLeast}${more} more`] : [])]
}

function pairs(each: Readonly<Record<string, unknown>>): string {
  return Object.entries(each)
    .map(([name, value]) => `${name} ${value === null ? 'unknown' : String(value)}`)
    .join(', ')
}
