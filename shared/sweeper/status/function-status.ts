import type { FunctionStatus } from '../../core/status.ts'
import type { Expected } from '../scheduled.ts'
import type { readFunctions } from './statements.ts'

type Row = NonNullable<(typeof readFunctions)['_row']>

/** How a function is, by its row and by what is expected of it; undefined of one that this version lacks. */
export function functionStatus(row: Row, expected: Expected | undefined): FunctionStatus {
  const { installedAgeSeconds, isLatched, isDisabled, disabledBy, lastError, lastErrorAt, ...told } = row
  const wrong = isOff(row, expected) ? [] : faultsOf(row, expected)
  return {
    ...told,
    lastError: lastError === null ? null : { message: lastError, at: lastErrorAt },
    degraded: wrong.length > 0,
    state: wrong.length > 0 ? wrong.join('; ') : ordinary(row, expected),
  }
}

const isOff = ({ isDisabled }: Row, expected: Expected | undefined) => isDisabled || expected?.isOff === true

/** What makes it degraded, one phrase each. An aborted run alone does not: the next one is its retry. */
function faultsOf(row: Row, expected: Expected | undefined): string[] {
  const { isLatched, quarantined } = row
  const rows = quarantined === 1 ? '1 row stands' : `${quarantined} rows stand`
  const late = lateness(row, expected)
  return [
    ...(late === undefined ? [] : [late]),
    ...(isLatched ? ['works at a part of its batch size since its breaker latched'] : []),
    ...(quarantined === 0 ? [] : [`${rows} aside, because each failed by itself`]),
  ]
}

/** One that never ran is not late: nobody may have deployed it yet. One that only ever failed is. */
function lateness(row: Row, expected: Expected | undefined): string | undefined {
  if (expected === undefined || row.outcome === null) return undefined
  const { cadenceMinutes, staleAfterSeconds } = expected
  const { successAgeSeconds, installedAgeSeconds } = row
  const due = `although it is due every ${cadenceMinutes} min`
  if (successAgeSeconds === null) {
    return (installedAgeSeconds ?? 0) > staleAfterSeconds ? `has never succeeded, ${due}` : undefined
  }
  if (successAgeSeconds <= staleAfterSeconds) return undefined
  return `succeeded last ${ageText(successAgeSeconds)} ago, ${due}`
}

function ordinary(row: Row, expected: Expected | undefined): string {
  if (row.isDisabled) return `is switched off${row.disabledBy ? ` by ${row.disabledBy}` : ''}`
  if (expected?.isOff === true) return 'is switched off by a setting'
  if (row.outcome === null) return 'no run has completed yet'
  return row.outcome === 'aborted'
    ? `its last run aborted: ${row.lastError ?? 'no error is stored'}`
    : row.outcome
}

/** An age for people: its two or three first digits. */
export function ageText(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}
