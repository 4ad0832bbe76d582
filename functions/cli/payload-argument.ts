import { readFile } from 'node:fs/promises'
import { InvalidInputError } from '../../shared/core/errors.ts'

/** The flag of every verb that takes one payload. */
export const payloadFlag = {
  value: 'JSON|@FILE|-',
  doc: 'the payload, the file that holds it, or - for stdin',
} as const

/** The payload that a flag gave, in one of its three ways. */
export async function readPayload(given: string | undefined): Promise<unknown> {
  if (given === undefined) {
    throw new InvalidInputError('USAGE', '--payload', 'is missing: JSON, @FILE, or - for stdin')
  }
  if (given === '-') return parseJson(await readStdin(), '--payload')
  if (!given.startsWith('@')) return parseJson(given, '--payload')
  const file = given.slice(1)
  const text = await readFile(file, 'utf8').catch(cause => {
    throw new InvalidInputError('USAGE', '--payload', `${file} cannot be read`, { cause })
  })
  return parseJson(text, '--payload')
}

export async function readStdin(): Promise<string> {
  process.stdin.setEncoding('utf8')
  return (await process.stdin.toArray()).join('')
}

/** Reads JSON, but no number that JavaScript would change. */
export function parseJson(text: string, field: string): unknown {
  let unsafe: string | undefined
  try {
    // JavaScript would store another number than the one that was written, and say nothing.
    const payload = JSON.parse(text.replace(/^\uFEFF/, ''), (_key, value, context?: { source?: string }) => {
      const isWhole = /^-?\d+$/.test(context?.source ?? '')
      if (typeof value !== 'number' || (Number.isFinite(value) && !isWhole)) return value
      if (!Number.isSafeInteger(value)) unsafe ??= context?.source ?? String(value)
      return value
    })
    if (unsafe === undefined) return payload
  } catch (cause) {
    // The parser's own message would quote the payload.
    throw new InvalidInputError('PAYLOAD_INVALID', field, 'is not JSON', { cause })
  }
  throw new InvalidInputError(
    'PAYLOAD_INVALID',
    field,
    'holds a number too large to keep: write it as a text',
  )
}

/** `payload.a` is `--payload.a`; `payloads[2].a` is `payload 3.a`, the third that stdin held. */
export function nameOfPayload(field: string): string {
  if (/^payload\b/.test(field)) return `--${field}`
  return field.replace(/^payloads\[(\d+)\]/, (_, index: string) => `payload ${Number(index) + 1}`)
}
