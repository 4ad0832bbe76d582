import { isMarkdown, isRule, isText, linesMatching, type Rule } from '../rule.ts'

export const proseRules: readonly Rule[] = [
  {
    holds: 'no note to self lands',
    instead: 'Do it, or open an issue.',
    reads: path => isText(path) && !isRule(path),
    offences: file => linesMatching(file, /\b(TODO|FIXME|XXX)\b/),
    planted: { path: 'shared/core/a.ts', text: 'export {}\n// TODO: think\n', lines: [2] },
    lookAlike: { path: 'test/unit/a.ts', text: "const todo = mkdtemp('taskq-XXXXXX')\n" },
  },
  {
    holds: 'a page opens with its title, the only one',
    instead:
      'The first line is `# Title`; sections begin at `##`. Only the mark of a generated page stands above.',
    reads: path => isMarkdown(path) && !path.startsWith('.'),
    offences: file => {
      const lines = file.text
        .replaceAll(/^```[\s\S]*?^```$/gm, block => block.replaceAll(/^#/gm, ' '))
        .split('\n')
      const first = lines.findIndex(text => text !== '' && !text.startsWith('<!--'))
      const isTitle = (text: string | undefined) => /^# \S/.test(text ?? '')
      const second = lines.findIndex((text, index) => index > first && isTitle(text))
      return [
        ...(isTitle(lines[first]) ? [] : [{ line: Math.max(first, 0) + 1, what: 'no title' }]),
        ...(second > 0 ? [{ line: second + 1, what: 'a second title' }] : []),
      ]
    },
    planted: { path: 'docs/a.md', text: 'Functions\n\n# One\n', lines: [1, 3] },
    lookAlike: { path: 'docs/a.md', text: '<!-- Generated -->\n\n# One\n\n```sh\n# a comment\n```\n' },
  },
  {
    holds: 'the README names the two commands',
    instead: 'Say `npm ci && npm start` (or `npm run demo`) and `npm ci && npm test`, as they are typed.',
    reads: path => path === 'README.md',
    offences: ({ text }) =>
      [/npm ci && npm (start|run demo)/, /npm ci && npm test/]
        .filter(command => !command.test(text))
        .map(command => ({ line: 1, what: `lacks ${command.source}` })),
    planted: { path: 'README.md', text: '# A\n\nnpm install\n', lines: [1, 1] },
    lookAlike: { path: 'README.md', text: '# A\n\n    npm ci && npm run demo\n    npm ci && npm test\n' },
  },
]
