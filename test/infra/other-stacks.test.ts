import { type App, Aws, Duration, Stack } from 'aws-cdk-lib'
import { Annotations, Match } from 'aws-cdk-lib/assertions'
import { AttributeType, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Key } from 'aws-cdk-lib/aws-kms'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildBundles } from '../../infra/bundles.ts'
import type { TaskQ, TaskQProps } from '../../infra/taskq.ts'
import { secretArn } from '../support/synthesis.ts'
import { fastApp, idsOf, queueIn, resourcesOf } from '../support/templates.ts'

beforeAll(() => buildBundles())

/** What a user's stacks hold beside functions: a secret under a key, and a table. */
function data(stack: Stack) {
  const encryptionKey = new Key(stack, 'Key')
  const databaseSecret = new Secret(stack, 'Secret', { encryptionKey }) as ISecret
  return { databaseSecret, table: new TableV2(stack, 'Table', { partitionKey }) }
}
const partitionKey = { name: 'id', type: AttributeType.STRING }

function functionsIn(stack: Stack, { table }: ReturnType<typeof data>) {
  const code = { runtime: Runtime.NODEJS_24_X, handler: 'index.handler', code: Code.fromInline('//') }
  const worker = new LambdaFunction(stack, 'Worker', { ...code, timeout: Duration.minutes(1) })
  table.grantReadWriteData(worker)
  return { worker, webhook: new LambdaFunction(stack, 'Webhook', code) }
}

function use(queue: TaskQ, { worker, webhook }: ReturnType<typeof functionsIn>): void {
  queue.attachWorker(worker, { queues: ['mail'] })
  queue.grantEnqueue(webhook)
}

/** Which other stack of ours each needs, when all is synthesized; a circle is an error. */
function needsOf(app: App): Record<string, string[]> {
  const names = app.node.children.filter(child => child instanceof Stack).map(stack => stack.stackName)
  const needed = app.synth().stacks.map(({ stackName, dependencies }) => {
    return [stackName, dependencies.map(({ id }) => id).filter(id => names.includes(id))] as const
  })
  return Object.fromEntries(needed)
}

/** What the functions of a stack are told. */
const pinsIn = (app: Stack) => {
  const resources = resourcesOf(app)
  const made = idsOf(resources, 'AWS::Lambda::Function').map(id => resources[id]?.Properties['Environment'])
  return made.map(environment => (environment as { Variables: object }).Variables)
}

const references = [['weak'], ['strong']]

describe.each(references)('with %s references between stacks', kind => {
  const newApp = () => {
    const app = fastApp()
    app.node.setContext('@aws-cdk/core:defaultCrossStackReferences', kind)
    return app
  }

  test.each([
    ['the queue', ['Queues', 'App']],
    ['the worker', ['App', 'Queues']],
  ])('a secret, a table, a worker and a queue may stand each in its own, %s made first', (_, order) => {
    const app = newApp()
    const own = data(new Stack(app, 'Data'))
    const stacks = Object.fromEntries(order.map(name => [name, new Stack(app, name)]))
    const made: { functions?: ReturnType<typeof functionsIn>; queue?: TaskQ } = {}
    for (const name of order) {
      if (name === 'App') made.functions = functionsIn(stacks['App'] as Stack, own)
      else made.queue = queueIn(stacks['Queues'] as Stack, { databaseSecret: own.databaseSecret })
    }
    use(made.queue as TaskQ, made.functions as ReturnType<typeof functionsIn>)
    expect(needsOf(app)).toEqual({
      Data: [],
      Queues: ['Data'],
      App: expect.toSatisfy((needs: string[]) => `${needs.sort()}` === 'Data,Queues'),
    })
    const variables = {
      TASKQ_INSTALLATION_ID: expect.anything(),
      TASKQ_DATABASE_SECRET_ARN: expect.anything(),
    }
    expect(pinsIn(stacks['App'] as Stack)).toEqual([
      expect.objectContaining(variables),
      expect.objectContaining(variables),
    ])
  })

  const inWorkersStack = (props: Partial<TaskQProps> = {}) => {
    const app = newApp()
    const stack = new Stack(app, 'App')
    const own = data(stack)
    const queue = queueIn(new Stack(app, 'Queues'), { databaseSecret: own.databaseSecret, ...props })
    use(queue, functionsIn(stack, own))
    return { app, stack }
  }

  test('a queue whose secret stands with its worker needs that stack alone, and a warning says so', () => {
    const { app, stack } = inWorkersStack()
    expect(needsOf(app)).toEqual({ App: [], Queues: ['App'] })
    for (const variables of pinsIn(stack)) {
      expect(variables).not.toHaveProperty('TASKQ_INSTALLATION_ID')
      expect(variables).toHaveProperty('TASKQ_ENVIRONMENT', 'Queues')
    }
    Annotations.fromStack(stack).hasWarning(
      '/App/Worker',
      Match.stringLikeRegexp('Give TaskQ an installationId'),
    )
  })

  test('and with an installation id of its own it is pinned there, too', () => {
    const installationId = '7f3b1c7e-0000-4000-8000-000000000000'
    const { app, stack } = inWorkersStack({ installationId })
    expect(needsOf(app)).toEqual({ App: [], Queues: ['App'] })
    for (const variables of pinsIn(stack)) {
      expect(variables).toHaveProperty('TASKQ_INSTALLATION_ID', installationId)
    }
    Annotations.fromStack(stack).hasNoWarning('*', Match.anyValue())
  })
})

describe('two queues of one app', () => {
  const other = secretArn.replace('example', 'other')
  const twice = (props: (app: App) => readonly [Partial<TaskQProps>, Partial<TaskQProps>]) => {
    const app = fastApp()
    const [first, second] = props(app)
    queueIn(new Stack(app, 'First'), first)
    return () => queueIn(new Stack(app, 'Second'), second)
  }
  const refused = expect.objectContaining({
    code: 'OPTION_INVALID',
    field: 'schema',
    message: expect.stringContaining('First/TaskQ'),
  })

  test('are refused in one schema by one secret, and the other one is named', () => {
    expect(twice(() => [{}, { schema: 'taskq' }])).toThrow(refused)
    const made = (app: App) => new Secret(new Stack(app, 'Data'), 'Secret') as ISecret
    expect(
      twice(app => {
        const databaseSecret = made(app)
        return [{ databaseSecret }, { databaseSecret }]
      }),
    ).toThrow(refused)
  })

  test('may have one schema by two secrets, or two by one', () => {
    expect(twice(() => [{}, { databaseSecret: other }])).not.toThrow()
    expect(twice(() => [{}, { schema: 'other' }])).not.toThrow()
  })

  test('may have one that only the deployment resolves, each in its own region', () => {
    const databaseSecret = secretArn.replace('eu-central-1', Aws.REGION)
    const inRegion = (app: App, region: string) => new Stack(app, region, { env: { region } })
    const app = fastApp()
    queueIn(inRegion(app, 'eu-central-1'), { databaseSecret })
    expect(() => queueIn(inRegion(app, 'eu-west-1'), { databaseSecret })).not.toThrow()
  })
})

describe('two queues in two schemas', () => {
  test.each([
    ['in one stack', () => new Stack(fastApp(), 'Queues')],
    ['in two stacks of one app', () => fastApp()],
  ])('%s share nothing', (_, newScope) => {
    const scope = newScope()
    const stackFor = (name: string) => (scope instanceof Stack ? scope : new Stack(scope, name))
    const [one, other] = ['one', 'other'].map(schema => {
      const stack = stackFor(schema)
      return { stack, schema, queue: queueIn(stack, { schema }, `Queue${schema}`) }
    })
    const functionsOf = ({ stack, schema }: NonNullable<typeof one>) => {
      const resources = resourcesOf(stack)
      const ids = idsOf(resources, 'AWS::Lambda::Function', new RegExp(`^Queue${schema}`))
      return ids.map(id => ({ id, ...(resources[id]?.Properties['Environment'] as { Variables: object }) }))
    }
    for (const each of [one, other]) {
      if (each === undefined) throw new Error('there are two')
      const made = functionsOf(each)
      expect(made).toHaveLength(Object.keys(each.queue.functions).length)
      for (const { Variables } of made) expect(Variables).toHaveProperty('TASKQ_SCHEMA_NAME', each.schema)
    }
  })
})
