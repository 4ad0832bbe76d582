import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager'
import type { Construct, IConstruct } from 'constructs'
import { InvalidInputError } from '../shared/core/errors.ts'
import { type Settings, variableName, writeSettings } from '../shared/core/read-settings.ts'
import { scheduled } from '../shared/sweeps/index.ts'
import { openBundles } from './bundle-folders.ts'
import { type DatabaseSecrets, readStatements } from './database-secrets.ts'
import { definitionsFunction } from './definitions.ts'
import { runFirst, Smoke } from './deploy-order.ts'
import { deploymentIdOf } from './environment.ts'
import { checkTimeout, isRoutine, migrating, type Size, sizeOf } from './function-sizes.ts'
import { type Surroundings, TaskFunction, type UserFunction } from './functions.ts'
import { StartRule } from './rules.ts'

/** What a queue's own functions are made from. */
export interface QueueParts {
  readonly settings: Settings
  /** Those that stand in an environment, pins included. */
  readonly said: Partial<Settings>
  readonly secrets: DatabaseSecrets
  readonly surroundings: Surroundings
  readonly definitions?: { readonly entry: string } | undefined
}

export interface QueueFunctions {
  /** By their names. */
  readonly all: Readonly<Record<string, LambdaFunction>>
  /** What everything that runs waits for: the last step before it. */
  readonly ready: IConstruct
  /** Absent where every scheduled function is off. */
  readonly smoke: Smoke | undefined
}

/** Makes all functions of a queue, in the order in which a deployment runs them. */
export function queueFunctions(scope: Construct, parts: QueueParts): QueueFunctions {
  refuseUnknownPurposes(parts.settings)
  const { said, secrets, surroundings, definitions } = parts
  const deploymentId = deploymentIdOf(said, secrets)
  const environmentWith = (secret: ISecret | undefined) =>
    writeSettings({ ...said, databaseSecretArn: secret?.secretArn, deploymentId })
  const add = (name: string, description: string, size: Size, secret: ISecret) => {
    const statements = readStatements(secret)
    const own = { description, size, environment: environmentWith(secret), statements, surroundings }
    const bundle = openBundles[name]
    return definitions === undefined || bundle === undefined
      ? new TaskFunction(scope, pascalCase(name), { name, ...own })
      : definitionsFunction(scope, pascalCase(name), { bundle, ...definitions, ...own })
  }

  const databaseSecret = secrets.owner
  const migrate = add('migrate', 'TaskQ: brings the schema to this version', migrating, databaseSecret)
  const sync =
    definitions && add('sync', 'TaskQ: stores the definitions of this deployment', migrating, databaseSecret)
  const ready = runFirst(scope, { Migrate: migrate.function, ...(sync && { Sync: sync.function }) })

  const started = addScheduled(parts.settings, ready, (name, description, size) =>
    add(name, description, size, secrets.maintenance),
  )
  const smoke = addSmoke(scope, started, { environment: environmentWith(undefined), surroundings })
  const all = Object.fromEntries([
    ...started.map(({ purpose, made }) => [purpose, made.function] as const),
    ['migrate', migrate.function] as const,
    ...(sync ? [['sync', sync.function] as const] : []),
    ...(smoke ? [['smoke', smoke.function] as const] : []),
  ])
  return { all, ready, smoke }
}

interface Started {
  readonly purpose: string
  readonly made: TaskFunction | UserFunction
  readonly isOff: boolean
}

/** One function for each that a rule starts, and that rule. */
function addScheduled(
  settings: Settings,
  ready: IConstruct,
  add: (name: string, description: string, size: Size) => Started['made'],
): Started[] {
  return scheduled.map(each => {
    if (isRoutine(each)) checkTimeout(each, settings)
    const { purpose, title, cadenceMinutes: everyMinutes } = each
    const made = add(purpose, `TaskQ: ${title.toLowerCase()}`, sizeOf(each))
    const isOff = settings.functionsOff.includes(purpose)
    const rule = { description: `Starts ${purpose}: ${title}`, everyMinutes, target: made.function }
    if (!isOff) new StartRule(made, 'Start', rule)
    made.node.addDependency(ready)
    return { purpose, made, isOff }
  })
}

/** Asks what a rule starts. What is off is not asked: it may be off because it cannot work. */
function addSmoke(
  scope: Construct,
  started: readonly Started[],
  rest: Pick<QueueParts, 'surroundings'> & { readonly environment: Readonly<Record<string, string>> },
): Smoke | undefined {
  const on = started.filter(({ isOff }) => !isOff)
  if (on.length === 0) return undefined
  const targets = Object.fromEntries(on.map(({ purpose, made }) => [purpose, made.function]))
  return new Smoke(scope, 'Smoke', { targets, after: started.map(({ made }) => made), ...rest })
}

/** A misspelt name would leave the function on that was to be off. */
function refuseUnknownPurposes({ functionsOff }: Settings): void {
  const purposes: string[] = scheduled.map(({ purpose }) => purpose)
  const unknown = functionsOff.find(name => !purposes.includes(name))
  if (unknown === undefined) return
  const reason = `${unknown} is no function; there are ${purposes.join(', ')}`
  throw new InvalidInputError('SETTING_INVALID', variableName('functionsOff'), reason)
}

/** `ExpiredLocks` of `expired_locks`: as constructs are named. */
function pascalCase(name: string): string {
  return name.replaceAll(/(^|_)([a-z])/g, (_, _before, letter: string) => letter.toUpperCase())
}
