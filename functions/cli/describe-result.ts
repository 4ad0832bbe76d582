import type { DryRunResult, RunResult } from '../../shared/sweeper/result.ts'
import { remainingMax } from '../../shared/sweeper/run.ts'

export const count = (rows: number) => rows.toLocaleString('en-US')

/** `1 row`, `2,000 rows`. */
export function some(rows: number, noun: string, ending = 's'): string {
  return `${count(rows)} ${noun}${rows === 1 ? '' : ending}`
}

/** So many keys of rows stand in a line; the object has all of them. */
const keysMax = 5

/** A run, or what one would take, for people: line by line. */
export function describeResult(result: RunResult | DryRunResult): string[] {
  if ('dryRun' in result) return [`${result.function} would take ${some(result.eligible, 'row')}`]
  const { outcome, rows, batches, batchSize, durationMs, longestBatchMs } = result
  const ways = Object.entries(result.byDisposition ?? {}).map(([way, moved]) => `${count(moved)} ${way}`)
  const work = `${some(rows, 'row')} in ${some(batches, 'batch', 'es')}`
  return [
    `${result.function} ${outcome}: ${work} of at most ${batchSize}${left(result)}`,
    `  ${(durationMs / 1000).toFixed(2)} s, the longest batch ${longestBatchMs.toFixed(1)} ms`,
    ...(ways.length > 0 ? [`  ${ways.join(', ')}`] : []),
    ...breaker(result),
    ...setAside(result),
  ]
}

function left({ remaining }: RunResult): string {
  if (remaining === null) return ''
  return `; ${remaining === remainingMax ? 'at least ' : ''}${count(remaining)} left`
}

function breaker({ degraded, batchSizeConfigured }: RunResult): string[] {
  if (!degraded) return []
  return [
    `  degraded: its breaker has latched, so batches are a part of the ${batchSizeConfigured} configured`,
  ]
}

function setAside({ function: purpose, quarantined = [] }: RunResult): string[] {
  if (quarantined.length === 0) return []
  const more = quarantined.length > keysMax ? ', …' : ''
  const keys = quarantined.slice(0, keysMax).join(', ') + more
  return [`  ${some(quarantined.length, 'row')} set aside: ${keys} (taskq quarantine list ${purpose})`]
}
