import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { scheduled } from '../shared/sweeps/index.ts'

/**
 * The functions that the user's module goes into, and the bundle of each that leaves its name open,
 * `taskq-definitions`: the user's project bundles that once more, with its own module behind the name.
 */
export const openBundles: Readonly<Record<string, string>> = { cron: 'cron-open', sync: 'sync' }

/** Every bundle: each is named as its entry in functions/, but for an open one that stands beside it. */
export const bundledFunctions: readonly string[] = [
  ...scheduled.map(({ purpose }) => purpose),
  'migrate',
  'smoke',
  ...Object.values(openBundles),
]

/**
 * Where the construct finds the bundles: beside the folder of this file, in the repository as in the package,
 * which brings them ready made. How they are built stands apart, because building needs esbuild and a user's
 * synthesis may have none.
 */
export const bundlesFolder = join(import.meta.dirname, '..', 'bundles')

/** The folder of a function's bundle, which must have been built. */
export function bundleFolder(name: string): string {
  const folder = join(bundlesFolder, name)
  if (existsSync(join(folder, 'index.mjs'))) return folder
  throw new Error(`the bundle of ${name} is missing: build the bundles before the stack`)
}
