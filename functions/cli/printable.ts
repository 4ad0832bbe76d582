/** What a terminal obeys, or what breaks or turns a line around, instead of showing itself. */
const obeyed = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

/**
 * One line of text as a terminal may have it. Errors and names come from whoever stores them: a terminal
 * would colour what they hold, erase lines by it, or show a line that nobody printed. What JSON prints needs
 * none of this.
 *
 * @example
 * printable('a\u001b[31m\nb') // 'a\\u001b[31m\\nb'
 */
export function printable(line: string): string {
  return line.toWellFormed().replaceAll(obeyed, escaped)
}

function escaped(character: string): string {
  if (character === '\n') return '\\n'
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
