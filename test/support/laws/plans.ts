import { describe, expect } from 'vitest'
import { bind, render } from '../../../shared/sql/statement.ts'
import { type Arm, type Sweep, wholeWindow } from '../../../shared/sweeper/define.ts'
import { openingOf } from '../../../shared/sweeper/invocation.ts'
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

function armOf(sweep: Sweep): Arm {
  const [arm] = sweep.arms
  if (arm === undefined) throw new Error(`${sweep.purpose} takes nothing`)
  return arm
}

function nodes(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)]
}

/** The plan of the deployed statement inside a batch that was opened as a run opens it. */
async function explain(database: TestDatabase, { sweep }: Subject, mode: 'custom' | 'generic') {
  const connection = await database.connect()
  const settings = settingsWith()
  const { text, parameters } = render(armOf(sweep).batch.fragment, 'taskq')
  const values = bind(parameters, { ...sweep.args(settings), ...wholeWindow, limit: 100 })
  const literals = values.map(value =>
    typeof value === 'number' || value === null ? String(value) : `'${value}'`,
  )
  await connection.openBatch(openingOf(sweep, { trigger: 'manual', settings }))
  await connection.script(`set local plan_cache_mode = force_${mode}_plan; prepare deployed as ${text}`)
  const [row] = await connection.script(`explain (format json) execute deployed(${literals.join(', ')})`)
  // It would stay in the session, which behind a pooler is the next client's.
  await connection.script('deallocate deployed')
  await connection.rollback()
  return (row as { 'QUERY PLAN': { Plan: PlanNode; JIT?: unknown }[] })['QUERY PLAN'][0]
}

async function expectOwnIndex(database: TestDatabase, subject: Subject): Promise<void> {
  for (const mode of ['custom', 'generic'] as const) {
    const explained = await explain(database, subject, mode)
    const plan = nodes(explained?.Plan ?? { 'Node Type': 'none' })
    const window = nodes(plan.find(node => node['Subplan Name'] === 'CTE due') ?? { 'Node Type': 'none' })
    expect(window.map(node => node['Node Type'])).toEqual(['Limit', 'LockRows', 'Index Scan'])
    const scan = window.at(-1)
    expect(scan?.['Index Name']).toBe(armOf(subject.sweep).index)
    // Both bounds of the walk are the index's: a volatile clock would filter the whole population.
    expect(scan?.['Index Cond']).toMatch(/<= statement_timestamp\(\).*ROW\(/)
    // What it found and locked, it finds again by its place: no other index, and no scan.
    const ofJobs = ({ 'Relation Name': table, 'Index Name': index }: PlanNode) =>
      table === 'jobs' || index?.startsWith('jobs_') === true
    const others = plan.filter(node => ofJobs(node) && node !== scan && node['Node Type'] !== 'ModifyTable')
    expect(new Set(others.map(node => node['Node Type']))).toEqual(new Set(['Tid Scan']))
    expect(explained?.JIT).toBeUndefined()
  }
}

/** How a function finds its rows, where there are many. */
export function planLaws(subject: Subject): void {
  const kinds = [...subject.due, ...subject.spared]
  const fill = async (database: TestDatabase) => {
    await database.rows('alter table taskq.jobs set (autovacuum_enabled = off)')
    for (const columns of kinds) await insertJobs(database, columns, Math.ceil(100_000 / kinds.length))
  }

  describe('plans', () => {
    law('finds its rows by its own index at depth, custom and generic (B007, B008, B022)', async database => {
      await fill(database)
      await database.rows('analyze taskq.jobs')
      await expectOwnIndex(database, subject)
    })

    law('does so on a table that nobody has analyzed, as after a restore', async database => {
      await fill(database)
      await expectOwnIndex(database, subject)
    })
  })
}
