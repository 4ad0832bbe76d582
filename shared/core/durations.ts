import { type ErrorCode, InvalidInputError } from './errors.ts'

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A duration with its unit, as in `250ms`, `90s`, `5m`, `7d`; `'0'` is the only bare number. */
export type Duration = `${number}${keyof typeof unitMs}` | '0'

const pattern = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

/**
 * Milliseconds of a duration, or undefined where the text is none. A bare number is refused, because
 * a reader cannot tell whether it meant seconds or milliseconds.
 *
 * @example
 * parseDuration('5m') // 300000
 */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  const [, amount, unit] = pattern.exec(text) ?? []
  if (amount === undefined || unit === undefined) return undefined
  const ms = Number(amount) * unitMs[unit as keyof typeof unitMs]
  return Number.isSafeInteger(Math.round(ms)) ? Math.round(ms) : undefined
}

/** Milliseconds of a caller's duration, or an error that names the field. */
export function durationMs(field: string, text: string, code: ErrorCode = 'OPTION_INVALID'): number {
  const ms = parseDuration(text)
  if (ms === undefined) {
    throw new InvalidInputError(code, field, `"${text}" is not a duration such as 250ms, 90s, 5m or 7d`)
  }
  return ms
}

/** The shortest exact text of a number of milliseconds: the inverse of {@link parseDuration}. */
export function formatDuration(ms: number): Duration {
  if (ms === 0) return '0'
  const exact = (['d', 'h', 'm', 's'] as const).find(unit => ms % unitMs[unit] === 0)
  return exact === undefined ? `${ms}ms` : `${ms / unitMs[exact]}${exact}`
}
