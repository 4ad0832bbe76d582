import { execFileSync } from 'node:child_process'
import type { Statement } from '../../shared/sql/statement.ts'

type AnyStatement = Statement<unknown, unknown>

/**
 * Every statement that any module under shared/ or functions/ exports, by itself or inside an exported
 * object. Nothing registers itself: what a module keeps to itself would escape, so statements are exported.
 */
export async function everyStatement(): Promise<AnyStatement[]> {
  const files = execFileSync('git', ['ls-files', 'shared', 'functions/cli'], { encoding: 'utf8' }).split('\n')
  const found = new Map<string, AnyStatement>()
  for (const file of files.filter(name => name.endsWith('.ts') && !name.endsWith('main.ts'))) {
    const module = (await import(new URL(`../../${file}`, import.meta.url).href)) as Record<string, unknown>
    for (const value of Object.values(module)) collect(value, found, 4)
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name))
}

function collect(value: unknown, found: Map<string, AnyStatement>, depth: number): void {
  if (typeof value !== 'object' || value === null || depth < 0) return
  if ('fragment' in value && 'columns' in value) {
    const statement = value as AnyStatement
    const other = found.get(statement.name)
    if (other !== undefined && other !== statement)
      throw new Error(`two statements are named ${statement.name}`)
    found.set(statement.name, statement)
    return
  }
  for (const inner of Object.values(value)) collect(inner, found, depth - 1)
}
