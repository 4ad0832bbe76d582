import { at, isProduct, isRule, isTypeScript, linesMatching, type Rule } from '../rule.ts'
import { lineAt, nodesOf, syntaxOf, textOf } from '../syntax.ts'

/** The only product files that read the process's environment. */
export const environmentReaders = ['functions/runtime/settings.ts', 'functions/cli/settings.ts']

const mayReadEnvironment = (path: string) =>
  environmentReaders.includes(path) || /^test\/(support|tidy)\/|^[^/]+\.config\.ts$/.test(path)

export const codeRules: readonly Rule[] = [
  {
    holds: 'nothing in shared/ reads the local clock',
    instead:
      "The database's clock is the only clock: compare in SQL. Read elapsed time with performance.now().",
    reads: path => isProduct(path) && path.startsWith('shared/'),
    offences: file => [
      ...nodesOf(file, 'CallExpression')
        .filter(call => /^(Date\.now|Date)$/.test(textOf(file, call['callee'])))
        .map(call => at(file, call, textOf(file, call))),
      ...nodesOf(file, 'NewExpression')
        .filter(
          made => textOf(file, made['callee']) === 'Date' && (made['arguments'] as unknown[]).length === 0,
        )
        .map(made => at(file, made, textOf(file, made))),
    ],
    planted: {
      path: 'shared/core/a.ts',
      text: 'const a = Date.now()\nconst b = new Date()\n',
      lines: [1, 2],
    },
    lookAlike: { path: 'shared/core/a.ts', text: '// Never Date.now().\nconst b = new Date(dueAt)\n' },
  },
  {
    holds: `the environment is read in ${environmentReaders.join(' and ')} alone`,
    instead: 'Take the setting as an argument, or the whole environment where it is passed on.',
    reads: path => isTypeScript(path) && !isRule(path) && !mayReadEnvironment(path),
    offences: file => [
      ...nodesOf(file, 'MemberExpression')
        .filter(member => /^(globalThis\.)?process\.env$/.test(textOf(file, member)))
        .map(member => at(file, member, 'process.env')),
      ...nodesOf(file, 'ImportSpecifier')
        .filter(name => textOf(file, name['imported']) === 'env')
        .map(name => at(file, name, 'import of env')),
    ],
    planted: {
      path: 'functions/prune.ts',
      text: "import { env } from 'node:process'\nconst url = process.env['URL']\n",
      lines: [1, 2],
    },
    lookAlike: {
      path: 'functions/prune.ts',
      text: '/** As `process.env` is. */\nconst e = subprocess.env\n',
    },
  },
  {
    holds: 'the compiler and the linter are heard',
    instead:
      'Say the type. Where a cast is right, cast to the type that is meant; fix what the linter found.',
    reads: path => isTypeScript(path) && !isRule(path),
    offences: file => [
      ...nodesOf(file, 'TSAsExpression')
        .filter(cast => textOf(file, cast['typeAnnotation']) === 'any')
        .map(cast => at(file, cast, textOf(file, cast))),
      ...syntaxOf(file)
        .comments.filter(comment => /^\W*(@ts-(ignore|nocheck)|biome-ignore)/.test(comment.value))
        .map(comment => ({ line: lineAt(file, comment.start), what: comment.value.trim() })),
    ],
    planted: {
      path: 'shared/core/a.ts',
      text: '// @ts-ignore\nconst a = b as any\n// biome-ignore lint: no\n',
      lines: [1, 2, 3],
    },
    lookAlike: {
      path: 'test/unit/a.test.ts',
      text: '// @ts-expect-error a text is no number\nconst a: number = "as any" as unknown\n',
    },
  },
  {
    holds: 'types are imported by name, not inline',
    instead: "Write `import type { T } from '…'`: the check of rooms does not see an inline import.",
    reads: path => isTypeScript(path) && !isRule(path),
    offences: file => nodesOf(file, 'TSImportType').map(node => at(file, node, textOf(file, node))),
    planted: { path: 'shared/core/a.ts', text: "type A = Set<import('./b.ts').B>\n", lines: [1] },
    lookAlike: { path: 'functions/cli/a.ts', text: "const a = await import('../../infra/app.ts')\n" },
  },
  {
    holds: 'no path of one machine stands in the tree',
    instead: 'Build it from import.meta.url, os.tmpdir() or an argument.',
    reads: path => isProduct(path) || (/\.(ts|mjs|json|md|ya?ml|sh)$/.test(path) && !isRule(path)),
    offences: file =>
      linesMatching(file, /(?<![\w.:/-])(\/(home|root|Users|work|mnt)\/|[A-Z]:\\\\?[A-Za-z])/),
    planted: { path: 'shared/core/a.ts', text: "const a = '/home/ada/taskq'\n", lines: [1] },
    lookAlike: { path: 'README.md', text: '# A\n\nhttps://example.com/home/page and ./work/plan\n' },
  },
]
