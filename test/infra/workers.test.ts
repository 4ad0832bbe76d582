import { Duration, Stack } from 'aws-cdk-lib'
import { Annotations, Match } from 'aws-cdk-lib/assertions'
import { Alias, Code, type IVersion, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations'
import { Queue } from 'aws-cdk-lib/aws-sqs'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildBundles } from '../../infra/bundles.ts'
import type { AttachWorkerProps } from '../../infra/taskq.ts'
import { secretArn } from '../support/synthesis.ts'
import { fastApp, idsOf, queueIn, resourcesOf } from '../support/templates.ts'

beforeAll(() => buildBundles())

const newStack = () => new Stack(fastApp(), 'Queues')
const functionIn = (stack: Stack, props: object = {}) =>
  new LambdaFunction(stack, 'Own', {
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline('//'),
    timeout: Duration.minutes(1),
    ...props,
  })
const workerSecret = secretArn.replace('example', 'worker')
const clientSecret = secretArn.replace('example', 'client')

describe('a function that is attached', () => {
  const attached = (props: object = {}, settings: object = {}) => {
    const stack = newStack()
    const worker = functionIn(stack, { environment: { OWN: 'kept' }, ...props })
    const queue = queueIn(stack, {
      settings,
      databaseSecrets: { worker: workerSecret, client: clientSecret },
    })
    queue.grantEnqueue(worker)
    queue.attachWorker(worker, { queues: ['mail', 'bulk mail'] })
    queue.grantEnqueue(worker)
    const resources = resourcesOf(stack)
    const [id = ''] = idsOf(resources, 'AWS::Lambda::Function', /^Own/)
    return { id, resources, worker: resources[id]?.Properties }
  }

  test('is told where the queue is, by the worker’s secret, what it serves, and what was set', () => {
    const { worker } = attached({}, { lockLease: '2m' })
    expect(worker?.['Environment']).toEqual({
      Variables: {
        OWN: 'kept',
        TASKQ_DATABASE_SECRET_ARN: workerSecret,
        TASKQ_ENVIRONMENT: 'Queues',
        TASKQ_INSTALLATION_ID: { 'Fn::Select': [2, { 'Fn::Split': ['/', { Ref: 'AWS::StackId' }] }] },
        TASKQ_LOCK_LEASE: '2m',
        TASKQ_QUEUES: 'mail,bulk mail',
        TASKQ_SCHEMA_NAME: 'taskq',
      },
    })
  })

  test('is started every minute, and nothing of that is tried twice', () => {
    const { id, resources } = attached()
    const [rule] = idsOf(resources, 'AWS::Events::Rule', /^Own/).map(each => resources[each]?.Properties)
    expect(rule).toEqual({
      Description: 'Starts a worker of mail, bulk mail',
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Targets: [
        {
          Id: 'Target0',
          Arn: { 'Fn::GetAtt': [id, 'Arn'] },
          RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
        },
      ],
    })
    const [config] = idsOf(resources, 'AWS::Lambda::EventInvokeConfig', /^Own/).map(each => resources[each])
    expect(config?.Properties).toMatchObject({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 })
  })

  test('keeps a destination that it has, and is tried once all the same', () => {
    const stack = newStack()
    const onFailure = new SqsDestination(new Queue(stack, 'Failures'))
    const worker = functionIn(stack, { onFailure, retryAttempts: 2 })
    queueIn(stack).attachWorker(worker, { queues: ['mail'] })
    const resources = resourcesOf(stack)
    const configs = idsOf(resources, 'AWS::Lambda::EventInvokeConfig', /^Own/)
    expect(configs.map(each => resources[each]?.Properties)).toEqual([
      expect.objectContaining({
        DestinationConfig: { OnFailure: expect.any(Object) },
        MaximumRetryAttempts: 0,
        MaximumEventAgeInSeconds: 60,
      }),
    ])
  })

  test.each<[string, object, AttachWorkerProps, string]>([
    ['without a queue', {}, { queues: [] }, 'queues'],
    ['with a queue that no list can hold', {}, { queues: ['a', 'b,c'] }, 'queues[1]'],
    ['with a queue without a name', {}, { queues: [''] }, 'queues[0]'],
    [
      'that ends before its soft stop',
      { timeout: Duration.seconds(20) },
      { queues: ['a'] },
      'TASKQ_SOFT_STOP_TIMEOUT',
    ],
    ['with Lambda’s own timeout', { timeout: undefined }, { queues: ['a'] }, 'TASKQ_SOFT_STOP_TIMEOUT'],
  ])('is refused %s', (_, props, options, field) => {
    const stack = newStack()
    const refused = expect.objectContaining({ field })
    expect(() => queueIn(stack).attachWorker(functionIn(stack, props), options)).toThrow(refused)
  })

  test('is refused with both times named', () => {
    const stack = newStack()
    const worker = functionIn(stack, { timeout: Duration.seconds(10) })
    expect(() => queueIn(stack).attachWorker(worker, { queues: ['a'] })).toThrow(
      'TASKQ_SOFT_STOP_TIMEOUT: 20s is not below the timeout of the worker’s function, 10s',
    )
  })

  test('is refused a second time, by whatever queue', () => {
    const stack = newStack()
    const worker = functionIn(stack)
    queueIn(stack).attachWorker(worker, { queues: ['a'] })
    const other = queueIn(new Stack(fastApp(), 'Other'), { schema: 'other' })
    const refused = expect.objectContaining({ code: 'OPTION_INVALID', field: 'worker' })
    expect(() => other.attachWorker(worker, { queues: ['a'] })).toThrow(refused)
  })
})

test('a worker that is added has what all functions have, its own size, and its variables', () => {
  const stack = newStack()
  const queue = queueIn(stack)
  const worker = queue.addWorker('Mail', {
    entry: import.meta.filename,
    queues: ['mail'],
    memorySize: 512,
    timeout: Duration.minutes(2),
    environment: { OWN: 'kept' },
  })
  worker.addEnvironment('LATER', 'too')
  const resources = resourcesOf(stack)
  const [made] = idsOf(resources, 'AWS::Lambda::Function', /^TaskQMail/).map(id => resources[id]?.Properties)
  expect(made).toMatchObject({
    Architectures: ['arm64'],
    Runtime: 'nodejs24.x',
    Handler: 'index.handler',
    MemorySize: 512,
    Timeout: 120,
    LoggingConfig: { LogFormat: 'JSON', LogGroup: { Ref: expect.stringMatching(/^TaskQMailLog/) } },
    Environment: { Variables: { OWN: 'kept', LATER: 'too', TASKQ_QUEUES: 'mail' } },
  })
  expect(JSON.stringify(made)).not.toContain('AWS_NODEJS')
  const configs = idsOf(resources, 'AWS::Lambda::EventInvokeConfig', /^TaskQMail/)
  expect(configs.map(id => resources[id]?.Properties)).toMatchObject([
    { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
  ])
})

test('what is no function is told the same by a record of variables', () => {
  const installationId = '7f3b1c7e-0000-4000-8000-000000000000'
  const queue = queueIn(newStack(), { installationId, databaseSecrets: { client: clientSecret } })
  expect(queue.enqueueEnvironment()).toEqual({
    TASKQ_DATABASE_SECRET_ARN: clientSecret,
    TASKQ_ENVIRONMENT: 'Queues',
    TASKQ_INSTALLATION_ID: installationId,
    TASKQ_SCHEMA_NAME: 'taskq',
  })
})

test('a function cannot enqueue into two queues by one environment', () => {
  const stack = newStack()
  const given = functionIn(stack)
  queueIn(stack).grantEnqueue(given)
  const other = queueIn(new Stack(fastApp(), 'Other'), { schema: 'other' })
  const refused = expect.objectContaining({ code: 'OPTION_INVALID', field: 'grantee' })
  expect(() => other.grantEnqueue(given)).toThrow(refused)
})

describe('what stands before a function, or for one of another app', () => {
  const arn = 'arn:aws:lambda:eu-central-1:111122223333:function:theirs'
  const imported = (stack: Stack) => LambdaFunction.fromFunctionArn(stack, 'Theirs', arn)
  const aliasOf = (own: LambdaFunction) =>
    new Alias(Stack.of(own), 'Alias', { aliasName: 'live', version: own.currentVersion as IVersion })

  test.each([
    ['an alias', aliasOf],
    ['a version', (own: LambdaFunction) => own.currentVersion],
  ])('%s lets its function enqueue, environment included', (_, before) => {
    const stack = newStack()
    queueIn(stack).grantEnqueue(before(functionIn(stack)))
    const resources = resourcesOf(stack)
    const [made] = idsOf(resources, 'AWS::Lambda::Function', /^Own/).map(id => resources[id]?.Properties)
    expect(made?.['Environment']).toHaveProperty('Variables.TASKQ_DATABASE_SECRET_ARN', secretArn)
    Annotations.fromStack(stack).hasNoWarning('*', Match.stringLikeRegexp('enqueueEnvironment'))
  })

  test('an imported function may enqueue, with a warning that its environment is not set', () => {
    const stack = newStack()
    queueIn(stack).grantEnqueue(imported(stack))
    const told = Match.stringLikeRegexp('enqueueEnvironment\\(\\).*taskq:noEnvironment')
    Annotations.fromStack(stack).hasWarning('/Queues/Theirs', told)
  })

  test.each([
    ['an alias', (stack: Stack) => aliasOf(functionIn(stack))],
    ['an imported function', imported],
    ['nothing', () => undefined],
  ])('%s is no worker', (_, given) => {
    const stack = newStack()
    const refused = expect.objectContaining({ code: 'OPTION_INVALID', field: 'worker' })
    expect(() => queueIn(stack).attachWorker(given(stack) as never, { queues: ['a'] })).toThrow(refused)
  })
})
