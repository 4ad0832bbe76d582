import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager'
import type { Construct } from 'constructs'
import { InvalidInputError } from '../shared/core/errors.ts'
import { bundleFolder } from './bundle-folders.ts'
import { readStatements } from './database-secrets.ts'
import { migrating } from './function-sizes.ts'
import { type Surroundings, UserFunction } from './functions.ts'

export interface DefinitionsProps {
  /** The user's module. */
  readonly entry: string
  readonly environment: Readonly<Record<string, string>>
  readonly databaseSecret: ISecret
  readonly surroundings: Surroundings
}

/**
 * The function that stores a user's definitions at every deployment: ours, ready made but for one name that
 * it imports, `taskq-definitions`. The user's project bundles it once more with its own module behind it.
 */
export function definitionsFunction(scope: Construct, id: string, props: DefinitionsProps): UserFunction {
  const { entry, environment, databaseSecret, surroundings } = props
  const path = resolve(entry)
  if (!existsSync(path)) {
    throw new InvalidInputError('OPTION_INVALID', 'definitions.entry', `there is no file ${entry}`)
  }
  return new UserFunction(scope, id, {
    description: 'TaskQ: stores the definitions of this deployment',
    entry: join(bundleFolder('sync'), 'index.mjs'),
    bundling: { esbuildArgs: { '--alias': `taskq-definitions=${path}` } },
    size: migrating,
    environment,
    statements: readStatements(databaseSecret),
    surroundings,
  })
}
