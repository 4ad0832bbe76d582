import { beforeAll, describe, expect, test } from 'vitest'
import { scheduled } from '../../shared/sweeps/index.ts'
import {
  ofType,
  ownFunctions,
  type Resource,
  type SynthesizedStack,
  secretArn,
  synthesized,
} from '../support/synthesis.ts'

let stack: SynthesizedStack
beforeAll(async () => {
  stack = await synthesized({ settings: { lockLease: '2m', functionsOff: ['deadline_exceeded'] } })
})

/** As constructs are named: `ExpiredLocks` of `expired_locks`. */
const pascal = (name: string) =>
  name.replaceAll(/(^|_)([a-z])/g, (_, _before, letter: string) => letter.toUpperCase())
const functionOf = (name: string): [string, Resource] => {
  const isIt = ([id]: [string, Resource]) => new RegExp(`^TaskQ${pascal(name)}(Ask)?Function`).test(id)
  const [found, another] = ownFunctions(stack).filter(isIt)
  if (found === undefined || another !== undefined) throw new Error(`no single function of ${name}`)
  return found
}
const names = [...scheduled.map(({ purpose }) => purpose), 'migrate']

describe('a function', () => {
  test('stands for each that a rule starts, for migrate and for smoke, and for nothing else', () => {
    expect(ownFunctions(stack)).toHaveLength(names.length + 1)
    expect(functionOf('smoke')).toBeDefined()
  })

  test.each(names)('%s has the runtime, the logs and the environment of all', name => {
    const [, { Properties }] = functionOf(name)
    expect(Properties).toMatchObject({
      Architectures: ['arm64'],
      Runtime: 'nodejs24.x',
      Handler: 'index.handler',
      LoggingConfig: { LogFormat: 'JSON', SystemLogLevel: 'WARN', ApplicationLogLevel: 'TRACE' },
      Environment: {
        Variables: {
          TASKQ_DATABASE_SECRET_ARN: secretArn,
          TASKQ_DEPLOYMENT_ID: expect.stringMatching(/^[0-9a-f]{16}$/),
          TASKQ_ENVIRONMENT: 'TaskQ',
          TASKQ_FUNCTIONS_OFF: 'deadline_exceeded',
          TASKQ_INSTALLATION_ID: { 'Fn::Select': [2, { 'Fn::Split': ['/', { Ref: 'AWS::StackId' }] }] },
          TASKQ_LOCK_LEASE: '2m',
          TASKQ_SCHEMA_NAME: 'taskq',
        },
      },
    })
    expect(Properties).not.toHaveProperty('ReservedConcurrentExecutions')
  })

  test.each([
    ['promotion', 128, 120],
    ['expired_locks', 128, 120],
    ['deadline_exceeded', 256, 60],
    ['vital_signs', 256, 30],
    ['migrate', 256, 840],
  ])('%s has %i MB and %i s', (name, MemorySize, Timeout) => {
    expect(functionOf(name)[1].Properties).toMatchObject({ MemorySize, Timeout })
  })

  test.each(names)('%s is asked once by an event that is at most a minute old', name => {
    const [id] = functionOf(name)
    const configs = ofType(stack, 'AWS::Lambda::EventInvokeConfig').map(([, { Properties }]) => Properties)
    const own = configs.filter(({ FunctionName }) => (FunctionName as { Ref: string }).Ref === id)
    expect(own).toMatchObject([{ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 }])
  })

  test.each(names)('%s may write its own log and read the one secret, and nothing else', name => {
    const [, { Properties }] = functionOf(name)
    const [roleId = ''] = (Properties['Role'] as { 'Fn::GetAtt': string[] })['Fn::GetAtt']
    const { Ref: logId } = (Properties['LoggingConfig'] as { LogGroup: { Ref: string } }).LogGroup
    const role = stack.template.Resources[roleId]?.Properties ?? {}
    expect(role).not.toHaveProperty('ManagedPolicyArns')
    expect(role['Policies']).toEqual([
      {
        PolicyName: 'Own',
        PolicyDocument: {
          Version: '2012-10-17',
          Statement: [
            {
              Effect: 'Allow',
              Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
              Resource: { 'Fn::GetAtt': [logId, 'Arn'] },
            },
            { Effect: 'Allow', Action: 'secretsmanager:GetSecretValue', Resource: secretArn },
          ],
        },
      },
    ])
    expect(JSON.stringify(stack.template.Resources)).toContain(roleId)
    expect(ofType(stack, 'AWS::IAM::Policy')).toEqual([])
  })

  test.each(names)('%s logs to a group of its own, for a month', name => {
    const { LogGroup } = functionOf(name)[1].Properties['LoggingConfig'] as { LogGroup: { Ref: string } }
    expect(stack.template.Resources[LogGroup.Ref]).toMatchObject({
      Properties: { RetentionInDays: 30 },
      DeletionPolicy: 'Retain',
    })
  })

  test('shares neither role nor log group', () => {
    const shared = ownFunctions(stack).map(([, { Properties }]) =>
      JSON.stringify([Properties['Role'], Properties['LoggingConfig']]),
    )
    expect(new Set(shared).size).toBe(names.length + 1)
  })
})

describe('a rule', () => {
  test('starts each sweep that is not off, by its cadence and with no retry', () => {
    const on = scheduled.filter(({ purpose }) => purpose !== 'deadline_exceeded')
    const rules = ofType(stack, 'AWS::Events::Rule').map(([, { Properties }]) => Properties)
    expect(rules).toHaveLength(on.length)
    for (const { purpose, cadenceMinutes } of on) {
      const target = { 'Fn::GetAtt': [functionOf(purpose)[0], 'Arn'] }
      expect(rules).toContainEqual({
        Description: expect.stringContaining(purpose),
        ScheduleExpression: cadenceMinutes === 1 ? 'rate(1 minute)' : `rate(${cadenceMinutes} minutes)`,
        State: 'ENABLED',
        Targets: [
          {
            Id: 'Target0',
            Arn: target,
            RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
          },
        ],
      })
    }
  })
})

describe('a deployment', () => {
  test('migrates before any other function or rule is made or changed', () => {
    const [[triggerId, trigger] = ['', undefined], another] = ofType(stack, 'Custom::Trigger')
    expect(another).toBeUndefined()
    expect(trigger?.Properties).toMatchObject({
      Timeout: '840000',
      InvocationType: 'RequestResponse',
      ExecuteOnHandlerChange: true,
    })
    const later = Object.entries(stack.template.Resources).filter(([id]) =>
      scheduled.some(({ purpose }) => id.startsWith(`TaskQ${pascal(purpose)}`)),
    )
    expect(later.length).toBeGreaterThan(scheduled.length * 4)
    for (const [id, { DependsOn }] of later) expect(DependsOn, id).toContain(triggerId)
    const before = Object.entries(stack.template.Resources).filter(([id]) => id.startsWith('TaskQMigrateF'))
    for (const [id, { DependsOn }] of before) expect(DependsOn ?? [], id).not.toContain(triggerId)
  })

  test('tells the name of each function', () => {
    const [value = ''] = Object.values(stack.template.Outputs).map(({ Value }) => JSON.stringify(Value))
    for (const name of names) expect(value).toContain(name)
  })
})
