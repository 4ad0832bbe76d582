/** The longest stored error message and stack, in bytes: enough to diagnose, too little to bloat a row. */
export const errorMessageBytesMax = 4096
export const errorStackBytesMax = 16_384

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * Text that Postgres accepts, whatever an exception carried: NUL becomes a visible `\x00`, a lone
 * surrogate U+FFFD, and the rest is cut at a bound in bytes. Derived text is mended rather than
 * refused, because refusing it would strand the job that it describes.
 *
 * @example
 * storableText('a\u0000b', 100) // 'a\\x00b'
 */
export function storableText(text: string, bytesMax: number): string {
  const bytes = encoder.encode(text.replaceAll('\u0000', '\\x00'))
  if (bytes.length <= bytesMax) return decoder.decode(bytes)
  // The cut may fall inside a character: the decoder marks the torn one, which is then dropped.
  return `${decoder.decode(bytes.subarray(0, bytesMax - 3)).replace(/\uFFFD+$/, '')}…`
}

/** What a thrown value says of itself, in columns that can hold it. */
export interface StorableError {
  errorClass: string
  message: string
  stack: string | null
}

/** The class, message and stack of anything that was thrown, an error or not; it never throws itself. */
export function storableError(thrown: unknown): StorableError {
  const { name, message, stack } = describe(thrown)
  return {
    errorClass: storableText(name, 255),
    message: storableText(message, errorMessageBytesMax),
    stack: stack === null ? null : storableText(stack, errorStackBytesMax),
  }
}

function describe(thrown: unknown): { name: string; message: string; stack: string | null } {
  try {
    if (thrown instanceof Error) {
      const { name, message, stack } = thrown
      return { name: String(name), message: String(message), stack: stack == null ? null : String(stack) }
    }
    return { name: 'NonError', message: String(thrown), stack: null }
  } catch {
    // A hostile getter or toString must not turn the failure of a job into a failure of its settle.
    return { name: 'UnreadableError', message: 'the thrown value could not be read', stack: null }
  }
}
