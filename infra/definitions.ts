import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Construct } from 'constructs'
import { InvalidInputError } from '../shared/core/errors.ts'
import { bundleFolder } from './bundle-folders.ts'
import { type FunctionProps, UserFunction } from './functions.ts'

export interface DefinitionsProps extends FunctionProps {
  /** The bundle, which leaves the name of the user's module open. */
  readonly bundle: string
  /** The user's module. */
  readonly entry: string
}

/**
 * A function with the user's definitions in it: ours, ready made but for one name that it imports,
 * `taskq-definitions`. The user's project bundles it once more with its own module behind it.
 */
export function definitionsFunction(scope: Construct, id: string, props: DefinitionsProps): UserFunction {
  const { bundle, entry, ...own } = props
  const path = resolve(entry)
  if (!existsSync(path)) {
    throw new InvalidInputError('OPTION_INVALID', 'definitions.entry', `there is no file ${entry}`)
  }
  return new UserFunction(scope, id, {
    ...own,
    entry: join(bundleFolder(bundle), 'index.mjs'),
    bundling: { esbuildArgs: { '--alias': `taskq-definitions=${path}` } },
  })
}
