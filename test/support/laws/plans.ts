import { describe, expect } from 'vitest'
import { bind, render } from '../../../shared/sql/statement.ts'
import { noFloor } from '../../../shared/sweeper/define.ts'
import type { TestDatabase } from '../database.ts'
import { insertJobs } from '../jobs.ts'
import { settingsWith } from '../sweeping.ts'
import { law, type Subject } from './subject.ts'

/** A node of a plan, as EXPLAIN's JSON has it. */
interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Subplan Name'?: string
  readonly Plans?: readonly PlanNode[]
}

function nodes(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)]
}

async function explain(database: TestDatabase, { sweep }: Subject, mode: 'custom' | 'generic') {
  const client = await database.client()
  const { text, parameters } = render(sweep.batch.fragment, 'taskq')
  const values = bind(parameters, { ...sweep.args(settingsWith()), ...noFloor, limit: 100 })
  await client.query(`set plan_cache_mode = force_${mode}_plan`)
  await client.query(`prepare deployed as ${text}`)
  const literals = values.map(value => (typeof value === 'number' ? String(value) : `'${value}'`))
  const { rows } = await client.query(`explain (format json) execute deployed(${literals.join(', ')})`)
  return rows[0]['QUERY PLAN'][0] as { Plan: PlanNode; JIT?: unknown }
}

/** How a function finds its rows, where there are many. */
export function planLaws(subject: Subject): void {
  const { sweep } = subject
  describe('plans', () => {
    law(
      'finds its rows by its own index at depth, as a custom and as a generic plan (B007, B008, B022)',
      async database => {
        for (const columns of [...subject.due, ...subject.spared]) {
          await insertJobs(
            database,
            columns,
            Math.ceil(100_000 / (subject.due.length + subject.spared.length)),
          )
        }
        await database.rows('analyze taskq.jobs')
        for (const mode of ['custom', 'generic'] as const) {
          const { Plan, JIT } = await explain(database, subject, mode)
          const ofJobs = ({ 'Relation Name': table, 'Index Name': index }: PlanNode) =>
            table === 'jobs' || index?.startsWith('jobs_') === true
          const reads = nodes(Plan).filter(node => ofJobs(node) && node['Node Type'] !== 'ModifyTable')
          const window = nodes(Plan).find(node => node['Subplan Name'] === 'CTE due')
          expect(window && nodes(window).map(node => node['Node Type'])).toEqual([
            'Limit',
            'LockRows',
            'Index Scan',
          ])
          const scan = window && nodes(window).at(-1)
          expect(scan?.['Index Name']).toBe(sweep.index)
          // Both bounds of the walk are the index's: a volatile clock would filter the whole population.
          expect(scan?.['Index Cond']).toMatch(/<= statement_timestamp\(\).*ROW\(/)
          // What it found and locked, it finds again by its place: no other index, and no scan.
          const others = reads.filter(node => node !== scan).map(node => node['Node Type'])
          expect(new Set(others)).toEqual(new Set(['Tid Scan']))
          expect(JIT).toBeUndefined()
        }
      },
    )
  })
}
