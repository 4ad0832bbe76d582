import type { Flags, Verb } from './verb.ts'

/** Flags that every verb takes. */
export const commonFlags = {
  'database-url': { value: 'URL', doc: 'where the database is (TASKQ_DATABASE_URL)' },
  schema: { value: 'NAME', doc: 'which schema (TASKQ_SCHEMA_NAME, else taskq)' },
  json: { doc: 'print one JSON object on stdout, and logs on stderr' },
  help: { doc: 'print this' },
} as const satisfies Flags

const exits = '0 done, 1 the operation failed, 2 usage or settings, 3 database unreachable, 4 wrong target'

/** What `taskq --help` prints. */
export function overview(verbs: readonly Verb[]): string[] {
  return [
    'A Postgres job queue whose maintenance runs in short-lived functions.',
    '',
    'taskq VERB [flags]',
    '',
    ...columns(verbs.map(verb => [usageWords(verb), verb.summary])),
    '',
    'Flags of every verb:',
    ...columns(rowsOf(commonFlags)),
    '',
    `Exit codes: ${exits}.`,
    '"taskq VERB --help" says more, "taskq --version" which this is.',
  ]
}

/** What `taskq VERB --help` prints. */
export function verbHelp(verb: Verb): string[] {
  const own = Object.keys(verb.flags).length === 0 ? [] : ['', ...columns(rowsOf(verb.flags))]
  const lines = [`taskq ${usageWords(verb)} [flags]`, '', `${verb.summary}.`, ...own]
  return [...lines, '', 'Flags of every verb:', ...columns(rowsOf(commonFlags))]
}

const usageWords = (verb: Verb) => [verb.name, ...verb.words].join(' ')

function rowsOf(flags: Flags): [string, string][] {
  return Object.entries(flags).map(([name, { value, doc }]) => [`--${name}${value ? ` ${value}` : ''}`, doc])
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
