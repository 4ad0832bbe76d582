import { Duration, RemovalPolicy } from 'aws-cdk-lib'
import { Effect, PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  ApplicationLogLevel,
  Architecture,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
} from 'aws-cdk-lib/aws-lambda'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager'
import { Construct } from 'constructs'
import { InvalidInputError } from '../shared/core/errors.ts'
import { type Settings, variableName } from '../shared/core/read-settings.ts'
import type { Sweep } from '../shared/sweeper/define.ts'
import { bundleFolder } from './bundle-folders.ts'

/** How much a function gets: memory buys its share of a processor, too. */
export interface Size {
  readonly memoryMb: number
  readonly timeout: Duration
}

const pulsing: Size = { memoryMb: 128, timeout: Duration.seconds(120) }
const draining: Size = { memoryMb: 256, timeout: Duration.seconds(60) }
export const migrating: Size = { memoryMb: 256, timeout: Duration.minutes(14) }

/** A pulsing function mostly sleeps; the others work and leave. */
export function sizeOf(sweep: Sweep): Size {
  return sweep.pulse === null ? draining : pulsing
}

/** An event that nobody took for a minute is stale: the next one says the same. */
const eventAgeMax = Duration.seconds(60)

export interface TaskFunctionProps {
  /** The one name: of the bundle, and in what is shown. */
  readonly name: string
  readonly description: string
  readonly size: Size
  readonly environment: Readonly<Record<string, string>>
  readonly databaseSecret: ISecret
  readonly logRetention?: RetentionDays | undefined
  readonly removalPolicy?: RemovalPolicy | undefined
}

/**
 * One function: its bundle, its log group, and a role that may write there and read one secret, and nothing
 * else. It has no reserved concurrency: an overlap is safe, and a throttle would hide.
 */
export class TaskFunction extends Construct {
  readonly function: LambdaFunction

  constructor(scope: Construct, id: string, props: TaskFunctionProps) {
    super(scope, id)
    const logGroup = new LogGroup(this, 'Log', {
      retention: props.logRetention ?? RetentionDays.ONE_MONTH,
      removalPolicy: props.removalPolicy ?? RemovalPolicy.RETAIN,
    })
    this.function = new LambdaFunction(this, 'Function', {
      description: props.description,
      code: Code.fromAsset(bundleFolder(props.name)),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: props.size.memoryMb,
      timeout: props.size.timeout,
      environment: { ...props.environment },
      role: roleOf(this, logGroup, props.databaseSecret),
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      systemLogLevelV2: SystemLogLevel.WARN,
      // The platform filters nothing: metrics carry no level. The functions obey their own setting.
      applicationLogLevelV2: ApplicationLogLevel.TRACE,
      // The rule's next event is the retry. A second try of this one would land on top of it.
      retryAttempts: 0,
      maxEventAge: eventAgeMax,
    })
  }
}

function roleOf(scope: Construct, logGroup: LogGroup, secret: ISecret): Role {
  const statements = [
    new PolicyStatement({
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: [logGroup.logGroupArn],
    }),
    new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [secret.secretArn] }),
    ...decryptStatements(secret),
  ]
  return new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    inlinePolicies: { Own: new PolicyDocument({ statements }) },
  })
}

/** A secret under a key of the customer's own cannot be read without it. */
function decryptStatements({ encryptionKey, env }: ISecret): PolicyStatement[] {
  if (encryptionKey === undefined) return []
  const throughSecretsManager = { 'kms:ViaService': `secretsmanager.${env.region}.amazonaws.com` }
  return [
    new PolicyStatement({
      effect: Effect.ALLOW,
      actions: ['kms:Decrypt'],
      resources: [encryptionKey.keyArn],
      conditions: { StringEquals: throughSecretsManager },
    }),
  ]
}

/** Room for a connection, a last batch and its retry, the report and the close. */
const reserveMs = 15_000

/** Refuses settings with which the platform would end a function before it ended by itself. */
export function checkTimeout(sweep: Sweep, settings: Settings): void {
  const { timeout } = sizeOf(sweep)
  const windowMs = sweep.pulse === null ? 0 : settings.invocationWindow
  const batchMs = settings[sweep.statementTimeout]
  if (windowMs + 2 * batchMs + reserveMs <= timeout.toMilliseconds()) return
  throw new InvalidInputError(
    'SETTING_INVALID',
    variableName('invocationWindow'),
    `${windowMs} ms, twice ${variableName(sweep.statementTimeout)} ${batchMs} ms and ${reserveMs} ms ` +
      `are more than the ${timeout.toSeconds()} s that ${sweep.purpose} may run`,
  )
}
