import { bind, render, type Statement } from '../../shared/sql/statement.ts'
import type { TestDatabase } from './database.ts'

/** A node of a plan, as EXPLAIN's JSON has it. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Filter?: string
  readonly 'Subplan Name'?: string
  readonly Plans?: readonly PlanNode[]
}

/** A node and everything below it. */
export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}

/** The plan of a statement as it is deployed, made for its arguments or for any. */
export async function planOf<Row, Args>(
  database: TestDatabase,
  statement: Statement<Row, Args>,
  args: Args,
  mode: 'custom' | 'generic',
): Promise<{ nodes: PlanNode[]; jit: unknown }> {
  const client = await database.client()
  const { text, parameters } = render(statement.fragment, 'taskq')
  await client.query(`set plan_cache_mode = force_${mode}_plan`)
  await client.query(`prepare deployed as ${text}`)
  const literals = bind(parameters, args).map(value => client.escapeLiteral(literal(value)))
  const given = literals.length === 0 ? '' : `(${literals.join(', ')})`
  const { rows } = await client.query(`explain (format json) execute deployed${given}`)
  const { Plan, JIT } = rows[0]['QUERY PLAN'][0] as { Plan: PlanNode; JIT?: unknown }
  return { nodes: nodesOf(Plan), jit: JIT }
}

function literal(value: unknown): string {
  if (!Array.isArray(value)) return String(value)
  return `{${value.map(each => (each === null ? 'null' : JSON.stringify(String(each)))).join(',')}}`
}

/** How a plan reads the jobs: the kinds of its scans, and the indexes that they use. */
export function readsOfJobs(nodes: readonly PlanNode[]): { scans: string[]; indexes: string[] } {
  const reads = nodes.filter(
    node =>
      (node['Relation Name'] === 'jobs' || node['Index Name']?.startsWith('jobs_')) &&
      node['Node Type'] !== 'ModifyTable',
  )
  const unique = (values: (string | undefined)[]) =>
    [...new Set(values.filter(each => each !== undefined))].sort()
  return {
    scans: unique(reads.map(node => node['Node Type'])),
    indexes: unique(reads.map(node => node['Index Name'])),
  }
}
