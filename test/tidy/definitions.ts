import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Sweep } from '../../shared/sweeper/define.ts'

/**
 * The functions in functions/ that are written by hand: what a deploy or an operator invokes, and what a rule
 * starts that is no sweep.
 */
export const handwrittenFunctions: readonly string[] = ['cron', 'migrate', 'sync', 'smoke', 'vital_signs']

/** A purpose as a name in TypeScript. */
export function camelCase(purpose: string): string {
  return purpose.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** The purposes for which a tree has a definition, sorted. The folder is the registry. */
export function purposesIn(root: string): string[] {
  const files = readdirSync(join(root, 'shared/sweeps')).filter(name => name.endsWith('.ts'))
  return files
    .filter(name => name !== 'index.ts')
    .map(name => name.slice(0, -'.ts'.length))
    .sort()
}

/** Loads a definition from its own file: the index may be stale, since it is generated. */
export async function definitionOf(root: string, purpose: string): Promise<Sweep> {
  const file = join(root, 'shared/sweeps', `${purpose}.ts`)
  const exported = (await import(pathToFileURL(file).href)) as Record<string, Sweep>
  const sweep = exported[camelCase(purpose)]
  if (sweep?.purpose === purpose) return sweep
  throw new Error(
    `shared/sweeps/${purpose}.ts must export \`${camelCase(purpose)}\` with purpose '${purpose}'`,
  )
}
