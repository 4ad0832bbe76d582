import { RemovalPolicy, Validations } from 'aws-cdk-lib'
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  ApplicationLogLevel,
  Architecture,
  Code,
  type FunctionOptions,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda'
import { type BundlingOptions, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { bundleFolder } from './bundle-folders.ts'
import type { Size } from './function-sizes.ts'
import { interfaceStatements, type Network } from './network.ts'
import { eventAgeMax } from './rules.ts'
import type { TaskQProps } from './taskq-props.ts'

/** What all functions of one queue have in common. */
export interface Surroundings
  extends Pick<TaskQProps, 'layers' | 'logEncryptionKey' | 'logRetention' | 'removalPolicy' | 'tracing'> {
  readonly network?: Network | undefined
}

export interface FunctionProps {
  readonly description: string
  readonly size: Size
  readonly environment: Readonly<Record<string, string>>
  /** What its role allows, beside what every function needs. */
  readonly statements: readonly PolicyStatement[]
  readonly surroundings: Surroundings
}

/** The one name: of the bundle, and in what is shown. */
export type TaskFunctionProps = FunctionProps & { readonly name: string }

/**
 * One function of ours: its bundle, its log group, and a role that may write there and do what it is given,
 * and nothing else. It has no reserved concurrency: an overlap is safe, and a throttle would hide.
 */
export class TaskFunction extends Construct {
  readonly function: LambdaFunction

  constructor(scope: Construct, id: string, props: TaskFunctionProps) {
    super(scope, id)
    this.function = new LambdaFunction(this, 'Function', {
      ...optionsOf(this, props),
      runtime: Runtime.NODEJS_24_X,
      handler: 'index.handler',
      code: Code.fromAsset(bundleFolder(props.name)),
    })
  }
}

export type UserFunctionProps = FunctionProps & {
  /** The module that exports `handler`. */
  readonly entry: string
  readonly bundling?: BundlingOptions | undefined
}

/** The driver is CommonJS and requires Node's own modules, for which a module has no `require`. */
const requireBanner =
  "import { createRequire as nodeRequire } from 'node:module'; const require = nodeRequire(import.meta.url);"

/** A function with the user's code in it, which is therefore bundled in the user's project. */
export class UserFunction extends Construct {
  readonly function: NodejsFunction

  constructor(scope: Construct, id: string, props: UserFunctionProps) {
    super(scope, id)
    this.function = new NodejsFunction(this, 'Function', {
      ...optionsOf(this, props),
      runtime: Runtime.NODEJS_24_X,
      entry: props.entry,
      awsSdkConnectionReuse: false,
      bundling: {
        format: OutputFormat.ESM,
        target: 'node24',
        mainFields: ['module', 'main'],
        minify: true,
        keepNames: true,
        banner: requireBanner,
        // What is deployed is what was built: the platform's own copy of the SDK changes when it likes.
        externalModules: [],
        ...props.bundling,
      },
    })
  }
}

function optionsOf(scope: Construct, props: FunctionProps): FunctionOptions {
  const { network, layers, tracing, logEncryptionKey, logRetention, removalPolicy } = props.surroundings
  const logGroup = new LogGroup(scope, 'Log', {
    retention: logRetention ?? RetentionDays.ONE_MONTH,
    removalPolicy: removalPolicy ?? RemovalPolicy.RETAIN,
    ...(logEncryptionKey && { encryptionKey: logEncryptionKey }),
  })
  return {
    description: props.description,
    architecture: Architecture.ARM_64,
    memorySize: props.size.memoryMb,
    timeout: props.size.timeout,
    environment: { ...props.environment },
    role: roleOf(scope, logGroup, props),
    logGroup,
    loggingFormat: LoggingFormat.JSON,
    systemLogLevelV2: SystemLogLevel.WARN,
    // The platform filters nothing: metrics carry no level. The functions obey their own setting.
    applicationLogLevelV2: ApplicationLogLevel.TRACE,
    // The rule's next event is the retry. A second try of this one would land on top of it.
    retryAttempts: 0,
    maxEventAge: eventAgeMax,
    ...network,
    ...(layers && { layers: [...layers] }),
    ...(tracing && { tracing }),
  }
}

function roleOf(
  scope: Construct,
  { logGroupArn }: LogGroup,
  { statements, surroundings }: FunctionProps,
): Role {
  const { network, tracing = Tracing.DISABLED } = surroundings
  const log = new PolicyStatement({
    actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    resources: [logGroupArn],
  })
  const own = [log, ...statements, ...interfaceStatements(network)]
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    inlinePolicies: { Own: new PolicyDocument({ statements: own }) },
  })
  if (network !== undefined || tracing !== Tracing.DISABLED) {
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'The actions of network interfaces and of X-Ray know no resource that a role could name.',
    })
  }
  return role
}
