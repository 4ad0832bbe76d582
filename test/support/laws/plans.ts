import { describe, expect } from 'vitest'
import { bind, render } from '../../../shared/sql/statement.ts'
import { wholeWindow } from '../../../shared/sweeper/define.ts'
import { openingOf } from '../../../shared/sweeper/invocation.ts'
import type { TestDatabase } from '../database.ts'
import { nodesOf, type PlanNode } from '../plans.ts'
import { settingsWith } from '../sweeping.ts'
import { armOf, insertKind, law, type Subject } from './subject.ts'

/** The plan of the deployed statement inside a batch that was opened as a run opens it. */
async function explain(database: TestDatabase, subject: Subject, mode: 'custom' | 'generic') {
  const { sweep } = subject
  const connection = await database.connect()
  const settings = settingsWith()
  const { text, parameters } = render(armOf(subject).batch.fragment, 'taskq')
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

const isScan = (node: PlanNode) => node['Node Type'].endsWith('Scan') && node['Relation Name'] !== undefined

async function expectOwnIndex(database: TestDatabase, subject: Subject): Promise<void> {
  const { sweep } = subject
  const { index } = armOf(subject)
  const tables = ['jobs', ...sweep.arms.map(({ table }) => table)]
  for (const mode of ['custom', 'generic'] as const) {
    const explained = await explain(database, subject, mode)
    const plan = nodesOf(explained?.Plan ?? { 'Node Type': 'none' })
    const steps = plan.filter(node => node['Subplan Name']?.startsWith('CTE ')).map(nodesOf)
    const window = steps.find(nodes => nodes.some(node => node['Index Name'] === index)) ?? []
    // The window is read in its index's order, as far as it goes: nothing is sorted, whatever is ahead.
    expect(window.map(node => node['Node Type']).filter(type => /Sort|Hash/.test(type))).toEqual([])
    const own = window.filter(node => node['Index Name'] === index)
    expect(own.length).toBeGreaterThan(0)
    for (const scan of own) {
      expect(scan['Node Type']).toMatch(/^Index (Only )?Scan$/)
      // Both bounds of the walk are the index's: a volatile clock would filter the whole population.
      expect(scan['Index Cond']).toMatch(/<= \(?statement_timestamp\(\)/)
      if (sweep.head !== null) expect(scan.Filter).toMatch(/hashed SubPlan/)
    }
    // Beside it, a row is found by its place or by a key: never by a scan of its table, or of another index.
    const others = plan.filter(isScan).filter(node => tables.includes(node['Relation Name'] ?? ''))
    for (const node of others.filter(each => !own.includes(each))) {
      const way = `${node['Node Type']} ${node['Index Name'] ?? ''}`
      expect(way).toMatch(/^(Tid Scan |Index (Only )?Scan \w+_pkey|Index (Only )?Scan jobs_open_members)$/)
    }
    expect(explained?.JIT).toBeUndefined()
  }
}

/** How a function finds its rows, where there are many. */
export function planLaws(subject: Subject): void {
  const { sweep } = subject
  const kinds = [...subject.due, ...subject.spared, ...(subject.ahead ?? [])]
  const tables = new Set(['jobs', ...sweep.arms.map(({ table }) => table)])
  const fill = async (database: TestDatabase) => {
    for (const table of tables)
      await database.rows(`alter table taskq.${table} set (autovacuum_enabled = off)`)
    for (const kind of kinds) await insertKind(database, subject, kind, Math.ceil(100_000 / kinds.length))
  }

  describe('plans', () => {
    law('finds its rows by its own index at depth, custom and generic (B007, B008, B022)', async database => {
      await fill(database)
      await database.rows('analyze')
      await expectOwnIndex(database, subject)
    })

    law('does so on a table that nobody has analyzed, as after a restore', async database => {
      await fill(database)
      await expectOwnIndex(database, subject)
    })
  })
}
