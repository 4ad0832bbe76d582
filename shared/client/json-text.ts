/** Deeper values than this are refused: both JSON.stringify and Postgres recurse, and their stacks end. */
export const jsonDepthMax = 1000

/** A value as the JSON text that `jsonb` can hold, or why it cannot. */
export type JsonText =
  | { readonly ok: true; readonly text: string }
  | {
      readonly ok: false
      readonly kind: 'unserializable' | 'unstorable'
      readonly path: string
      readonly reason: string
    }

/**
 * Writes a value as JSON for a `jsonb` column. `unserializable`: a BigInt, a cycle, a function, too deep.
 * `unstorable`: a text or key in it holds NUL or half a surrogate pair, which Postgres refuses. The reason
 * never quotes a value.
 *
 * @example
 * jsonText({ note: 'a\u0000b' })
 * // { ok: false, kind: 'unstorable', path: '.note', reason: 'holds a NUL character' }
 */
export function jsonText(value: unknown): JsonText {
  const text = stringify(value)
  if (typeof text !== 'string') {
    return { ok: false, kind: 'unserializable', path: '', reason: text.reason }
  }
  if (isDeeperThan(text, jsonDepthMax)) {
    return { ok: false, kind: 'unserializable', path: '', reason: `is nested deeper than ${jsonDepthMax}` }
  }
  if (!unstorable.test(text)) return { ok: true, text }
  return { ok: false, kind: 'unstorable', ...(findUnstorable(JSON.parse(text), '') ?? unknownPlace) }
}

const unknownPlace = { path: '', reason: 'holds a character that Postgres refuses' }

function stringify(value: unknown): string | { reason: string } {
  try {
    return JSON.stringify(value) ?? { reason: `is ${typeof value}, which JSON has not` }
  } catch (error) {
    // Only the kind of the error is told: its message may quote what the value holds.
    if (error instanceof RangeError) return { reason: `is nested deeper than ${jsonDepthMax}` }
    return { reason: 'cannot be written as JSON: it holds a BigInt, a cycle, or something that throws' }
  }
}

/**
 * An escape that JSON.stringify writes for NUL or a lone surrogate, behind an even number of backslashes.
 * Whole pairs are never written as escapes.
 */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/

function findUnstorable(value: unknown, path: string): { path: string; reason: string } | undefined {
  if (typeof value === 'string') return textProblem(value, path)
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const keyProblem = textProblem(key, path)
    if (keyProblem !== undefined) return { path, reason: `has a key that ${keyProblem.reason}` }
    const found = findUnstorable(inner, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`)
    if (found !== undefined) return found
  }
  return undefined
}

function textProblem(text: string, path: string): { path: string; reason: string } | undefined {
  const reason = unstorableReason(text)
  return reason === undefined ? undefined : { path, reason }
}

/** Why a text cannot be stored, or undefined. */
export function unstorableReason(text: string): string | undefined {
  if (text.includes('\u0000')) return 'holds a NUL character'
  return text.isWellFormed() ? undefined : 'holds half a surrogate pair'
}

function isDeeperThan(text: string, max: number): boolean {
  // Each level takes two brackets at least, so that a short text needs no look.
  if (text.length <= 2 * max) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = endOfString(text, at)
    else if (code === 0x5b || code === 0x7b) {
      depth++
      if (depth > max) return true
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return false
}

/** The index of the quote that closes the string opened at an index. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at > 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++
    if (backslashes % 2 === 0) return at
  }
  return text.length
}
