import { join } from 'node:path'
import { Duration, Stack, type StackProps } from 'aws-cdk-lib'
import { Runtime } from 'aws-cdk-lib/aws-lambda'
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs'
import type { Construct } from 'constructs'
import { TaskQ } from 'taskq-serverless/infra'

const here = (file: string) => join(import.meta.dirname, file)

/** The queue and its worker. */
export class QueueStack extends Stack {
  readonly queue: TaskQ

  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props)
    this.queue = new TaskQ(this, 'TaskQ', {
      databaseSecret: this.node.getContext('databaseSecretArn'),
      definitions: { entry: here('definitions.ts') },
    })
    this.queue.addWorker('Receipts', { entry: here('worker.ts'), queues: ['mail'] })
  }
}

/** The shop, which enqueues from a stack of its own. */
export class ShopStack extends Stack {
  constructor(scope: Construct, id: string, { queue, ...props }: StackProps & { readonly queue: TaskQ }) {
    super(scope, id, props)
    const checkout = new NodejsFunction(this, 'Checkout', {
      entry: here('checkout.ts'),
      runtime: Runtime.NODEJS_24_X,
    })
    queue.grantEnqueue(checkout)
  }
}

/** A second worker, a function that another team makes and deploys. */
export class MailroomStack extends Stack {
  constructor(scope: Construct, id: string, { queue, ...props }: StackProps & { readonly queue: TaskQ }) {
    super(scope, id, props)
    const worker = new NodejsFunction(this, 'Worker', {
      entry: here('worker.ts'),
      runtime: Runtime.NODEJS_24_X,
      timeout: Duration.minutes(5),
    })
    queue.attachWorker(worker, { queues: ['mail'] })
  }
}
