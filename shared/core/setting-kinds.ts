import * as z from 'zod/mini'
import { formatDuration, parseDuration } from './durations.ts'

/**
 * What is asked of a setting's schema. Zod's own type would stand in the declarations of the package, and
 * not everybody who reads those has zod.
 */
export interface TextSchema<T> {
  safeParse(text: string): Read<T>
}

type Read<T> =
  | { readonly success: true; readonly data: T; readonly error?: undefined }
  | { readonly success: false; readonly error: { readonly issues: readonly { readonly message: string }[] } }

/** One row of the settings table: how its text is read, written and described. */
export interface Setting<T> {
  /** Reads the text of an environment variable. */
  readonly schema: TextSchema<T>
  /** Writes a value as the text that reads back to it. */
  readonly format: (value: T) => string
  /** The value's text where the variable is absent; undefined: the setting may be absent. */
  readonly fallback: string | undefined
  /** What the reference shows as the range. */
  readonly range: string
  /** One sentence for the reference: what the setting does, and why it is what it is. */
  readonly doc: string
}

type Described = { doc: string }
type WithFallback = Described & { fallback: string }

/** A text mapped to a value, refused with a reason where `read` returns undefined. */
function readText<T>(
  read: (text: string) => T | undefined,
  reason: string,
  say = (text: string) => `"${text}" is`,
): TextSchema<T> {
  return z.pipe(
    z.string(),
    z.transform((text, context) => {
      const value = read(text)
      if (value === undefined) {
        context.issues.push({ code: 'custom', message: `${say(text)} not ${reason}`, input: text })
        return z.NEVER
      }
      return value
    }),
  ) as unknown as z.ZodMiniType<T, string>
}

/** A whole number in a range. */
export function wholeNumber(min: number, max: number, row: WithFallback): Setting<number> {
  const read = (text: string) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : undefined
  }
  const range = max === Number.MAX_SAFE_INTEGER ? `≥ ${min}` : `${min}..${max}`
  return { ...row, schema: readText(read, `a whole number ${range}`), format: String, range }
}

/** A duration with its unit, held in milliseconds. */
export function duration(minText: string, maxText: string, row: WithFallback): Setting<number> {
  const [min, max] = [parseDuration(minText) ?? 0, parseDuration(maxText) ?? 0]
  const read = (text: string) => {
    const ms = parseDuration(text)
    return ms !== undefined && ms >= min && ms <= max ? ms : undefined
  }
  const range = `${minText}..${maxText}`
  const reason = `a duration with its unit, such as 90s, in ${range}`
  return { ...row, schema: readText(read, reason), format: formatDuration, range }
}

/** One of some words. */
export function choice<const W extends string>(words: readonly W[], row: WithFallback): Setting<W> {
  const range = words.join(', ')
  const read = (text: string) => words.find(word => word === text)
  return { ...row, schema: readText(read, `one of ${range}`), format: String, range }
}

/** Several of some words, separated by commas; the empty text is none of them. */
export function wordList(row: WithFallback & { range: string; isWord: (word: string) => boolean }) {
  const { isWord, ...rest } = row
  const read = (text: string) => {
    const words = text === '' ? [] : text.split(',').map(word => word.trim())
    return words.every(isWord) ? words : undefined
  }
  const setting: Setting<readonly string[]> = {
    ...rest,
    schema: readText<readonly string[]>(read, row.range),
    format: words => words.join(','),
  }
  return setting
}

/** Any text that passes a check, with a fallback. */
export function text(row: WithFallback & { range: string; isValid: (text: string) => boolean }) {
  const { isValid, ...rest } = row
  const read = (value: string) => (isValid(value) ? value : undefined)
  const setting: Setting<string> = { ...rest, schema: readText(read, row.range), format: String }
  return setting
}

/** Any text that passes a check, or nothing at all. */
export function optionalText(row: Described & { range: string; isValid?: (text: string) => boolean }) {
  const { isValid = (value: string) => value.length > 0, ...rest } = row
  const read = (value: string) => (isValid(value) ? value : undefined)
  const setting: Setting<string | undefined> = {
    ...rest,
    fallback: undefined,
    schema: readText<string | undefined>(read, row.range),
    format: value => value ?? '',
  }
  return setting
}

/** Whether a text is the URL of a Postgres database. */
export function isDatabaseUrl(text: string): boolean {
  return /^postgres(ql)?:\/\/\S+$/.test(text)
}

/** The URL of a database, or nothing at all. It holds a password: a refusal does not repeat it. */
export function optionalDatabaseUrl({ doc }: Described): Setting<string | undefined> {
  const range = 'a postgres:// URL'
  const read = (value: string) => (isDatabaseUrl(value.trim()) ? value.trim() : undefined)
  const format = (value: string | undefined) => value ?? ''
  return { doc, range, format, fallback: undefined, schema: readText(read, range, () => 'is') }
}
