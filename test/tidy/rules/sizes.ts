import { at, isMarkdown, isTypeScript, type Rule } from '../rule.ts'
import { isNode, type Node, nodesOf, syntaxOf, textOf } from '../syntax.ts'
import { isGenerated, type SourceFile } from '../tree.ts'

const fileLinesMax = 250
const functionLinesMax = 70
const lineColumnsMax = 110

const isCode = (path: string) => /\.(ts|mjs)$/.test(path)
const linesOf = (text: string) => text.replace(/\n$/, '').split('\n')

/** A describe block is a chapter of a test file, not a function: the file's own bound holds it. */
function chaptersOf(file: SourceFile): Node[] {
  const calls = nodesOf(file, 'CallExpression').filter(call =>
    /^describe\b/.test(textOf(file, call['callee'])),
  )
  return calls.flatMap(call => (call['arguments'] as unknown[]).filter(isNode))
}

/** The lines of each function, without those of the chapters in it. */
function functionLines(file: SourceFile): { node: Node; count: number }[] {
  const chapters = chaptersOf(file)
  const isWithin = (inner: Node, outer: Node) => inner.start > outer.start && inner.end <= outer.end
  const outermost = chapters.filter(chapter => !chapters.some(other => isWithin(chapter, other)))
  const count = (node: Node) => linesOf(textOf(file, node)).length
  return nodesOf(file, 'FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression')
    .filter(node => !chapters.includes(node))
    .map(node => {
      const inside = outermost.filter(chapter => isWithin(chapter, node))
      return { node, count: inside.reduce((lines, chapter) => lines - count(chapter), count(node)) }
    })
}

export const sizeRules: readonly Rule[] = [
  {
    holds: `a file has at most ${fileLinesMax} lines`,
    instead: 'Find the second noun in it and give that a file.',
    reads: isCode,
    offences: file => {
      const count = linesOf(file.text).length
      return count > fileLinesMax && !isGenerated(file.text) ? [{ line: count, what: `${count} lines` }] : []
    },
    planted: { path: 'shared/core/long.ts', text: 'export {}\n'.repeat(251), lines: [251] },
    lookAlike: { path: 'shared/core/long.ts', text: 'export {}\n'.repeat(250) },
  },
  {
    holds: `a function has at most ${functionLinesMax} lines`,
    instead: 'Name its steps, and let each be a function.',
    reads: isTypeScript,
    offences: file =>
      functionLines(file)
        .filter(({ count }) => count > functionLinesMax)
        .map(({ node, count }) => at(file, node, `${count} lines`)),
    planted: {
      path: 'shared/core/long.ts',
      text: `export {}\nconst f = () => {\n${'  f()\n'.repeat(69)}}\n`,
      lines: [2],
    },
    lookAlike: {
      path: 'test/unit/long.test.ts',
      text: [
        `const laws = () => describe('it', () => {\n${'  f()\n'.repeat(80)}})`,
        `const f = () => {\n${'  f()\n'.repeat(68)}}`,
      ].join('\n'),
    },
  },
  {
    holds: `a line has at most ${lineColumnsMax} columns`,
    instead: 'Break it; a table or a lone address in a page may be longer.',
    reads: path => isCode(path) || isMarkdown(path),
    offences: file => {
      if (isGenerated(file.text)) return []
      const mayBeLonger = isMarkdown(file.path) ? /^\s*\||^\S*$/ : /^\s*\S+$/
      return linesOf(file.text).flatMap((text, index) =>
        [...text].length > lineColumnsMax && !mayBeLonger.test(text)
          ? [{ line: index + 1, what: `${[...text].length} columns` }]
          : [],
      )
    },
    planted: { path: 'shared/core/wide.ts', text: `const a = 1\n// ${'so '.repeat(36)}\n`, lines: [2] },
    lookAlike: {
      path: 'docs/wide.md',
      text: `# Wide\n\n| ${'a '.repeat(80)} |\nhttps://example.com/${'a'.repeat(120)}\n`,
    },
  },
  {
    holds: 'every TypeScript file parses',
    instead: 'A file that no parser reads would pass every other rule unread.',
    reads: isTypeScript,
    offences: file => {
      try {
        syntaxOf(file)
        return []
      } catch (error) {
        return [{ line: 1, what: String(error) }]
      }
    },
    planted: { path: 'shared/core/broken.ts', text: 'const = 1\n', lines: [1] },
    lookAlike: { path: 'shared/core/fine.ts', text: 'await using a = b satisfies C\n' },
  },
]
