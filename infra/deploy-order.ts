import { createHash } from 'node:crypto'
import { CustomResource, Duration, Lazy, Stack } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { CfnFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Trigger } from 'aws-cdk-lib/triggers'
import { Construct, type IConstruct } from 'constructs'
import { asking, migrating } from './function-sizes.ts'
import { type Surroundings, TaskFunction } from './functions.ts'

/**
 * The order of a deployment, of the first as of every later one:
 *
 *     migrate → sync → all other functions and their rules → smoke
 *
 * The first two are triggers: the deployment invokes the function, waits for it, and fails with its message.
 * It does so whenever the function or its environment changed; that holds the deployment's id, so any change
 * of code or settings counts. What comes after them depends on the last one, and so is neither made nor
 * changed before it succeeded. CloudFormation takes no SQL back: after a roll-back the functions of the
 * version before meet the newer schema.
 */
export function runFirst(scope: Construct, steps: Readonly<Record<string, LambdaFunction>>): Trigger {
  const triggers = Object.entries(steps).map(
    ([id, handler]) => new Trigger(scope, `${id}Trigger`, { handler, timeout: migrating.timeout }),
  )
  return triggers.reduce((before, next) => {
    next.executeAfter(before)
    return next
  })
}

export interface SmokeProps {
  /** What is asked, by what it is for. */
  readonly targets: Readonly<Record<string, LambdaFunction>>
  /** What must stand before anything is asked. */
  readonly after: readonly IConstruct[]
  readonly environment: Readonly<Record<string, string>>
  readonly surroundings: Surroundings
}

/**
 * Asks every scheduled function, at the end, whether it can work. That is no trigger: functions/runtime/
 * smoke-handler.ts says why. It stands outside the network, since it speaks to AWS alone.
 */
export class Smoke extends Construct {
  readonly function: LambdaFunction
  readonly #run: CustomResource

  constructor(scope: Construct, id: string, { targets, after, environment, surroundings }: SmokeProps) {
    super(scope, id)
    const asked = Object.values(targets)
    const made = new TaskFunction(this, 'Ask', {
      name: 'smoke',
      description: 'TaskQ: asks each scheduled function whether it can work',
      size: asking,
      environment,
      statements: [
        new PolicyStatement({
          actions: ['lambda:InvokeFunction'],
          resources: asked.map(target => target.functionArn),
        }),
      ],
      surroundings: { ...surroundings, network: undefined },
    })
    this.function = made.function
    this.#run = new CustomResource(this, 'Run', {
      resourceType: 'Custom::TaskQSmoke',
      serviceToken: this.function.functionArn,
      // Should it end without an answer, the deployment need not wait for the hour that is usual.
      serviceTimeout: asking.timeout.plus(Duration.minutes(1)),
      properties: {
        Functions: Object.fromEntries(
          Object.entries(targets).map(([purpose, { functionName }]) => [purpose, functionName]),
        ),
        Made: Lazy.string({ produce: () => fingerprintOf(Stack.of(this), [this.function, ...asked]) }),
      },
    })
    this.after(...after)
  }

  /** Nothing is asked before these stand. */
  after(...made: readonly IConstruct[]): void {
    this.#run.node.addDependency(...made)
  }
}

/**
 * Changes with anything that a function is made of: its code, environment, network, role and size. A custom
 * resource is asked again only when one of its properties changed.
 */
function fingerprintOf(stack: Stack, functions: readonly LambdaFunction[]): string {
  const made = functions.map(({ node }) => {
    const { code, environment, layers, memorySize, role, timeout, tracingConfig, vpcConfig } =
      node.defaultChild as CfnFunction
    return stack.resolve({ code, environment, layers, memorySize, role, timeout, tracingConfig, vpcConfig })
  })
  return createHash('sha256').update(JSON.stringify(made)).digest('hex').slice(0, 16)
}
