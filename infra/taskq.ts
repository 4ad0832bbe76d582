import { CfnOutput, Duration, Fn, Stack, Token } from 'aws-cdk-lib'
import type { Connections, IConnectable } from 'aws-cdk-lib/aws-ec2'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import { Construct } from 'constructs'
import { functionNames } from '../shared/core/function-names.ts'
import { Access } from './access.ts'
import { databaseSecretsOf } from './database-secrets.ts'
import type { Smoke } from './deploy-order.ts'
import { checkSettings } from './environment.ts'
import { type Surroundings, UserFunction } from './functions.ts'
import { functionBehind, warnIfImported } from './grantee.ts'
import { connectionsOf, networkOf } from './network.ts'
import { refuseSharedSchema } from './one-queue-a-schema.ts'
import { queueFunctions } from './queue-functions.ts'
import { checkProps, type TaskQProps } from './taskq-props.ts'
import { type AddWorkerProps, type AttachWorkerProps, Workers } from './workers.ts'

export type { AddWorkerProps, AttachWorkerProps, TaskQProps }

/**
 * The queue's scheduled functions with their rules, roles and logs: migrated before they start, and asked
 * whether they can work before a deployment counts as done.
 *
 * @example
 * const queue = new TaskQ(this, 'TaskQ', { databaseSecret, settings: { lockLease: '2m' } })
 * queue.grantEnqueue(webhook)
 * queue.addWorker('Mail', { entry: 'mail/worker.ts', queues: ['mail'] })
 */
export class TaskQ extends Construct implements IConnectable {
  /** By their names: a sweep's purpose, `migrate`, `smoke`, and `sync` where there are definitions. */
  readonly functions: Readonly<Record<string, LambdaFunction>>
  readonly #access: Access
  readonly #workers: Workers
  readonly #surroundings: Surroundings
  readonly #smoke: Smoke | undefined

  constructor(scope: Construct, id: string, props: TaskQProps) {
    super(scope, id)
    checkProps(props)
    const secrets = databaseSecretsOf(this, props.databaseSecret, props.databaseSecrets)
    const pins = { ...pinsOf(this, props), databaseSecretArn: secrets.owner.secretArn }
    const { settings, said } = checkSettings(props.settings ?? {}, pins)
    refuseSharedSchema(this, secrets.owner, pins.schemaName)
    this.#surroundings = { ...props, network: networkOf(this, props) }
    const parts = {
      settings,
      said,
      secrets,
      surroundings: this.#surroundings,
      definitions: props.definitions,
    }
    const { all, ready, smoke } = queueFunctions(this, parts)
    const { vpc, securityGroups = [], layers = [], logEncryptionKey } = props
    const needed = [vpc, logEncryptionKey, ...securityGroups, ...layers].filter(each => each !== undefined)
    this.functions = all
    this.#smoke = smoke
    this.#access = new Access({ said, secrets, stack: Stack.of(this), needed })
    this.#workers = new Workers(this.#access, settings, ready)
    const names = Object.entries(all).map(([name, made]) => [name, made.functionName])
    const schema = Token.isUnresolved(pins.schemaName) ? undefined : pins.schemaName
    new CfnOutput(this, functionNames.outputId, {
      description: functionNames.describe(schema),
      value: Stack.of(this).toJsonString(Object.fromEntries(names)),
    })
  }

  /** What stands for the functions in their network, to be let in by the database. */
  get connections(): Connections {
    return connectionsOf(this.#surroundings.network)
  }

  /**
   * Lets a function, of any stack, enqueue: it may read the client's secret, and its environment says where
   * the queue is. An alias or a version stands for its function. Another principal, and a function that is
   * imported, is given the right alone; {@link enqueueEnvironment} is the rest. A worker of this queue
   * enqueues by its own secret, so for one there is nothing to do.
   */
  grantEnqueue(grantee: IGrantable): void {
    const receiver = functionBehind(grantee)
    if (receiver === undefined) {
      this.#access.grant('client', grantee)
      warnIfImported(grantee)
    } else if (!this.#workers.has(receiver)) this.#access.give('client', receiver)
  }

  /** The environment of whatever enqueues and is no `lambda.Function`, such as a container. */
  enqueueEnvironment(): Record<string, string> {
    return this.#access.environment('client')
  }

  /**
   * Makes a function, of any stack, a worker: started every minute by a rule of its own stack, with the right
   * to read the worker's secret, and told what it serves.
   */
  attachWorker(worker: LambdaFunction, props: AttachWorkerProps): void {
    this.#workers.attach(worker, props)
  }

  /** Adds a worker of which you write the code alone. */
  addWorker(id: string, props: AddWorkerProps): NodejsFunction {
    const { entry, bundling, environment = {}, memorySize = 256, timeout = Duration.minutes(5) } = props
    const made = new UserFunction(this, id, {
      description: `TaskQ: works on ${props.queues.join(', ')}`.slice(0, 256),
      entry,
      bundling,
      size: { memoryMb: memorySize, timeout },
      environment,
      statements: [],
      surroundings: this.#surroundings,
    })
    this.attachWorker(made.function, props)
    this.#smoke?.after(made)
    return made.function
  }
}

/**
 * Which installation this is. The UUID in the stack's id is new with every new stack: a copy of the stack
 * that points at the same database is refused there, before it changes anything.
 */
function pinsOf(scope: Construct, { schema, environment, installationId }: TaskQProps) {
  const { stackId, stackName } = Stack.of(scope)
  // arn:aws:cloudformation:region:account:stack/name/uuid
  const uuid = Fn.select(2, Fn.split('/', stackId))
  return {
    schemaName: schema ?? 'taskq',
    environment: environment ?? stackName,
    installationId: installationId ?? uuid,
  }
}
