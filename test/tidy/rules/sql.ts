import { at, isProduct, type Offence, type Rule } from '../rule.ts'
import { literalOf, type Node, nodesOf, textOf } from '../syntax.ts'
import type { SourceFile } from '../tree.ts'

/** What outlives its transaction, or hides behind a pooler where the next one does not find it. */
const sessionState = [
  /\bpg_(try_)?advisory_lock(_shared)?\s*\(/i,
  /\bpg_advisory_unlock(_all|_shared)?\s*\(/i,
  /(^|;)\s*set\s+((session|local)\s+)?[\w.]+\s*(=|to\b)/i,
  /\bset_config\s*\([^()]*,\s*false\s*\)/i,
  /(^|;)\s*(un)?listen\s+[^\s;]+\s*(;|$)/i,
  /(^|;)\s*prepare\s+\w+/i,
]

const withoutComments = (sql: string) => sql.replaceAll(/--.*/g, '').replaceAll(/\/\*[\s\S]*?\*\//g, '')

/** Every text that may be SQL: the string and template literals of code, the whole of a .sql file. */
function literals(file: SourceFile): { node: Node; sql: string }[] {
  if (file.path.endsWith('.sql')) return [{ node: { type: 'File', start: 0, end: 0 }, sql: file.text }]
  return nodesOf(file, 'Literal', 'TemplateLiteral').map(node => ({
    node,
    sql: node.type === 'Literal' ? String(literalOf(node)) : textOf(file, node).slice(1, -1),
  }))
}

/** The text of each bracket by itself, without what is bracketed inside it, and what stands outside all. */
function queriesIn(sql: string): string[] {
  const queries: string[] = []
  let rest = withoutComments(sql).replaceAll(/'[^']*'/g, '')
  for (let before = ''; before !== rest; ) {
    before = rest
    rest = rest.replaceAll(/\(([^()]*)\)/g, (_, inner: string) => {
      queries.push(inner)
      return ' _ '
    })
  }
  return [...queries, rest]
}

/** Rows without a column are only counted, and which of them are left out cannot be told. */
const isOnlyCounted = (query: string) => /^\s*select\s+from\b/i.test(query)

const isUnordered = (query: string) =>
  /(?<![.\w"])limit\s/i.test(query) && !/\border\s+by\b/i.test(query) && !isOnlyCounted(query)

function limitsWithoutOrder(file: SourceFile): Offence[] {
  return nodesOf(file, 'TaggedTemplateExpression')
    .filter(tagged => /^sql\b/.test(textOf(file, tagged['tag'])))
    .filter(tagged => queriesIn(textOf(file, tagged['quasi'])).some(isUnordered))
    .map(tagged => at(file, tagged, 'a limit without an order'))
}

export const sqlRules: readonly Rule[] = [
  {
    holds: 'no session state',
    instead: 'Use pg_try_advisory_xact_lock and set_config(name, value, true): a pooler keeps neither.',
    reads: path => isProduct(path) || path.endsWith('.sql'),
    offences: file =>
      literals(file)
        .filter(({ sql }) => sessionState.some(pattern => pattern.test(withoutComments(sql))))
        .map(({ node, sql }) => at(file, node, sql.trim().slice(0, 80))),
    planted: {
      path: 'shared/sql/a.ts',
      text: [
        'sql`select pg_try_advisory_lock(1)`',
        "'set statement_timeout = 5'",
        "'listen wake'",
        "\"select set_config('a', 'b', false)\"",
      ].join('\n'),
      lines: [1, 2, 3, 4],
    },
    lookAlike: {
      path: 'shared/sql/a.ts',
      text: [
        '// pg_advisory_lock(1) would be session state',
        'sql`select pg_try_advisory_xact_lock(1), set_config($1, $2, true)`',
        'sql`update jobs\n set status = 1`',
      ].join('\n'),
    },
  },
  {
    holds: 'every limit has an order',
    instead: 'Write `order by` in the same query: which rows a bound leaves out must not be chance.',
    reads: isProduct,
    offences: limitsWithoutOrder,
    planted: {
      path: 'shared/sql/a.ts',
      text: 'sql`select id from jobs where a in (select b from c limit 5) order by id limit 3`',
      lines: [1],
    },
    lookAlike: {
      path: 'shared/sql/a.ts',
      text: [
        'sql`select j.limit, (select b from c order by b limit 1)',
        'from jobs j -- limit 5',
        'order by id limit 3`',
        'sql`select count(*) from (select from jobs limit 10) as due`',
      ].join('\n'),
    },
  },
]
