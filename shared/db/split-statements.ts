/** One statement of a file, as it stands there, without its semicolon. */
export interface FileStatement {
  readonly text: string
  /** The line of the file, from 1, on which it begins. */
  readonly line: number
}

/**
 * The tokens among which a semicolon ends a statement: everything that can hide one is a token as a whole. A
 * word is, too, so that neither its last letter nor a dollar in it opens a string.
 */
const token = new RegExp(
  [
    String.raw`(?<blank>\s+|--[^\n]*)`,
    String.raw`(?<comment>/\*)`,
    '(?<end>;)',
    String.raw`[eE]'(?:[^'\\]|''|\\.)*'`,
    "'[^']*'",
    '"[^"]*"',
    String.raw`\$(?<tag>(?:[\p{L}_][\p{L}\p{N}_]*)?)\$.*?\$\k<tag>\$`,
    String.raw`[\p{L}\p{N}_][\p{L}\p{N}_$]*`,
    '.',
  ].join('|'),
  'suy',
)

/**
 * Splits a file into its statements, so that each runs by itself and a failure has a place. Comments around a
 * statement are left out, those inside it stay. A function's body stands in dollar quotes: `begin atomic`,
 * whose semicolons nothing hides, would be cut. A quote that nothing closes is the server's to name.
 *
 * @example
 * splitStatements('-- Two.\nselect 1;\nselect 2')
 * // [{ text: 'select 1', line: 2 }, { text: 'select 2', line: 3 }]
 */
export function splitStatements(text: string): FileStatement[] {
  const statements: FileStatement[] = []
  let begin = -1
  let end = -1
  const close = () => {
    const line = text.slice(0, begin).split('\n').length
    if (begin >= 0) statements.push({ text: text.slice(begin, end), line })
    begin = -1
  }
  for (let at = 0; at < text.length; ) {
    token.lastIndex = at
    const { 0: found = '', groups: is = {} } = token.exec(text) ?? {}
    const next = is['comment'] === undefined ? at + Math.max(1, found.length) : commentEnd(text, at)
    if (is['end'] !== undefined) close()
    else if (is['blank'] === undefined && is['comment'] === undefined) {
      if (begin < 0) begin = at
      end = next
    }
    at = next
  }
  close()
  return statements
}

/** Where the comment ends that begins here; comments nest. */
function commentEnd(text: string, begin: number): number {
  let depth = 0
  for (const { 0: mark, index } of text.slice(begin).matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1
    if (depth === 0) return begin + index + mark.length
  }
  return text.length
}
