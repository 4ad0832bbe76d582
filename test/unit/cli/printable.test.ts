import { expect, it } from 'vitest'
import { printable } from '../../../functions/cli/printable.ts'

it.each([
  ['a colour', 'a\u001b[31mb', 'a\\u001b[31mb'],
  ['a line break', 'a\r\nb', 'a\\u000d\\nb'],
  ['a tab and a bell', '\t\u0007', '\\u0009\\u0007'],
  ['a control sequence of one character, and a delete', '\u009b31m\u007f', '\\u009b31m\\u007f'],
  ['separators of lines and paragraphs', 'a\u2028b\u2029', 'a\\u2028b\\u2029'],
  ['what turns the direction around', 'a\u202eb\u2066', 'a\\u202eb\\u2066'],
  ['half a character', 'a\ud800', 'a\ufffd'],
])('%s is shown and not obeyed', (_, text, shown) => {
  expect(printable(text)).toBe(shown)
})

it('what people write stays as it is', () => {
  const text = 'Grüße, “q”: 日本語 👩‍💻 \\n'
  expect(printable(text)).toBe(text)
})
