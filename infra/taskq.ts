import { CfnOutput, Fn, type RemovalPolicy, Stack, Token } from 'aws-cdk-lib'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { RetentionDays } from 'aws-cdk-lib/aws-logs'
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { Construct } from 'constructs'
import { InvalidInputError } from '../shared/core/errors.ts'
import { type Settings, variableName, writeSettings } from '../shared/core/read-settings.ts'
import { sweeps } from '../shared/sweeps/index.ts'
import { migrateBefore } from './deploy-order.ts'
import { checkSettings, deploymentIdOf, type Pins, type SettingsProps } from './environment.ts'
import { checkTimeout, migrating, type Size, sizeOf, TaskFunction } from './functions.ts'
import { SweepRule } from './rules.ts'

export interface TaskQProps {
  /** The secret with the database's URL, or its complete ARN. */
  readonly databaseSecret: ISecret | string
  /** The schema that holds everything; `taskq` where absent. */
  readonly schema?: string
  /** Pinned in the database by the first deployment; the stack's name where absent. */
  readonly environment?: string
  /** Settings by their names in camelCase; durations as text, such as `'90s'`. */
  readonly settings?: SettingsProps
  /** Adopts the installation that a database already has; else it is the UUID in the stack's own id. */
  readonly installationId?: string
  /** How long the functions' logs are kept; a month where absent. */
  readonly logRetention?: RetentionDays
  /** What becomes of the log groups when the stack goes; they are kept where absent. */
  readonly removalPolicy?: RemovalPolicy
}

/**
 * The queue's scheduled functions with their rules, roles and logs, migrated before they start.
 *
 * @example
 * new TaskQ(this, 'TaskQ', { databaseSecret, settings: { lockLease: '2m' } })
 */
export class TaskQ extends Construct {
  /** Every function by its name: a sweep's purpose, or `migrate`. */
  readonly functions: Readonly<Record<string, LambdaFunction>>

  constructor(scope: Construct, id: string, props: TaskQProps) {
    super(scope, id)
    const databaseSecret = secretOf(this, props.databaseSecret)
    const pins = { ...pinsOf(this, props), databaseSecretArn: databaseSecret.secretArn }
    const { settings, said } = checkSettings(props.settings ?? {}, pins)
    refuseUnknownPurposes(settings)
    const environment = writeSettings({ ...said, deploymentId: deploymentIdOf(said) })
    const { logRetention, removalPolicy } = props
    const add = (name: string, description: string, size: Size) => {
      const shared = { environment, databaseSecret, logRetention, removalPolicy }
      return new TaskFunction(this, pascalCase(name), { name, description, size, ...shared })
    }

    const migrate = add('migrate', 'TaskQ: brings the schema to this version', migrating)
    const added = sweeps.map(sweep => {
      checkTimeout(sweep, settings)
      const made = add(sweep.purpose, `TaskQ: ${sweep.title.toLowerCase()}`, sizeOf(sweep))
      const isOff = settings.functionsOff.includes(sweep.purpose)
      const rule = isOff ? [] : [new SweepRule(made, 'Start', sweep, made.function)]
      return { purpose: sweep.purpose, made, rule }
    })
    const after = added.flatMap(({ made, rule }) => [made, ...rule])
    migrateBefore(this, migrate.function, after)

    this.functions = Object.fromEntries([
      ...added.map(({ purpose, made }) => [purpose, made.function] as const),
      ['migrate', migrate.function] as const,
    ])
    const names = Object.entries(this.functions).map(([name, made]) => [name, made.functionName])
    new CfnOutput(this, 'FunctionNames', {
      description: 'The name of each function, by what it is for',
      value: Stack.of(this).toJsonString(Object.fromEntries(names)),
    })
  }
}

/** A misspelt name would leave the function on that was to be off. */
function refuseUnknownPurposes({ functionsOff }: Settings): void {
  const purposes: string[] = sweeps.map(sweep => sweep.purpose)
  const unknown = functionsOff.find(name => !purposes.includes(name))
  if (unknown === undefined) return
  const reason = `${unknown} is no function; there are ${purposes.join(', ')}`
  throw new InvalidInputError('SETTING_INVALID', variableName('functionsOff'), reason)
}

/**
 * Which installation this is. The UUID in the stack's id is new with every new stack: a copy of the stack
 * that points at the same database is refused there, before it changes anything.
 */
function pinsOf(scope: Construct, { schema, environment, installationId }: TaskQProps): Pins {
  const { stackId, stackName } = Stack.of(scope)
  // arn:aws:cloudformation:region:account:stack/name/uuid
  const uuid = Fn.select(2, Fn.split('/', stackId))
  return {
    schemaName: schema ?? 'taskq',
    environment: environment ?? stackName,
    installationId: installationId ?? uuid,
  }
}

const completeArn = /^arn:[\w-]+:secretsmanager:[\w-]+:\d{12}:secret:.+-[A-Za-z0-9]{6}$/

/** A role can name a secret only by its complete ARN: a partial one would need a wildcard. */
function secretOf(scope: Construct, given: ISecret | string): ISecret {
  const isComplete =
    typeof given === 'string'
      ? Token.isUnresolved(given) || completeArn.test(given)
      : given.secretFullArn !== undefined
  if (!isComplete) {
    const reason = 'is not the complete ARN of a secret, with the six characters that end it'
    throw new InvalidInputError('OPTION_INVALID', 'databaseSecret', reason)
  }
  return typeof given === 'string' ? Secret.fromSecretCompleteArn(scope, 'DatabaseSecret', given) : given
}

/** `ExpiredLocks` of `expired_locks`: as constructs are named. */
function pascalCase(name: string): string {
  return name.replaceAll(/(^|_)([a-z])/g, (_, _before, letter: string) => letter.toUpperCase())
}
