import { describe, expect, test } from 'vitest'
import { pathsOf, projectRoot, readSource } from './tree.ts'

const pages = pathsOf(projectRoot).filter(path => path.endsWith('.md'))

/** The TypeScript in a page, each with the file that its first line names. */
const snippets = pages.flatMap(page =>
  [...readSource(projectRoot, page).text.matchAll(/^```ts\n(?:\/\/ (\S+)\n)?([\s\S]*?)^```$/gm)].map(
    ([, file = 'a file that it does not name', code = '']) => ({ page, file, code }),
  ),
)

describe('what a page shows', () => {
  test('is there at all', () => {
    expect(snippets.map(({ page }) => page)).toContain('README.md')
  })

  // Examples are type-checked here and run where the package is installed.
  test.each(snippets)('$file stands in it as $page has it', ({ file, code }) => {
    expect(readSource(projectRoot, file).text).toContain(code)
  })
})
