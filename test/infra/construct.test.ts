import { App, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { Match, Template } from 'aws-cdk-lib/assertions'
import { Key } from 'aws-cdk-lib/aws-kms'
import { LayerVersion } from 'aws-cdk-lib/aws-lambda'
import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildBundles } from '../../infra/bundles.ts'
import type { SettingsProps } from '../../infra/environment.ts'
import { sizeOf } from '../../infra/function-sizes.ts'
import { TaskQ, type TaskQProps } from '../../infra/taskq.ts'
import { scheduled } from '../../shared/sweeps/index.ts'
import { secretArn } from '../support/synthesis.ts'

beforeAll(async () => {
  await buildBundles()
})

const newStack = () =>
  new Stack(new App({ builtinCloudFormationValidation: false, analyticsReporting: false }), 'Queues')

/** The template of a stack with this construct; bundles are built, findings are not looked for. */
function templateWith(props: Partial<TaskQProps> = {}, stack = newStack()): Template {
  new TaskQ(stack, 'TaskQ', { databaseSecret: secretArn, ...props })
  return Template.fromStack(stack)
}

const variablesOf = (template: Template) =>
  Object.values(template.findResources('AWS::Lambda::Function')).flatMap(
    ({ Properties }) => Properties.Environment ?? [],
  )

describe('settings are refused by the name of what is wrong', () => {
  test.each([
    ['a duration without its unit', { lockLease: 90 }, 'TASKQ_LOCK_LEASE'],
    ['a number out of its range', { eventWriterBatchSize: 0 }, 'TASKQ_EVENT_WRITER_BATCH_SIZE'],
    ['two that do not fit', { heartbeatInterval: '30s' }, 'TASKQ_LOCK_LEASE'],
    ['a misspelt one', { lockLees: '1m' }, 'TASKQ_LOCK_LEES'],
    ['a function that there is not', { functionsOff: ['promotoin'] }, 'TASKQ_FUNCTIONS_OFF'],
    ['a password', { databaseUrl: 'postgres://app:pw@h/d' }, 'TASKQ_DATABASE_URL'],
    ['what each worker is told', { queues: 'mail' }, 'TASKQ_QUEUES'],
    ['a pin that is a property', { installationId: 'x' }, 'TASKQ_INSTALLATION_ID'],
    [
      'a window that outlives its function',
      { invocationWindow: '90s', eventWriterStatementTimeoutMs: 10_000 },
      'TASKQ_INVOCATION_WINDOW',
    ],
  ])('%s', (_, settings, field) => {
    const refused = expect.objectContaining({ code: 'SETTING_INVALID', field })
    expect(() => templateWith({ settings: settings as SettingsProps })).toThrow(refused)
  })

  test.each([
    ['a schema that is no identifier', { schema: 'Task-Q' }, 'TASKQ_SCHEMA_NAME'],
    ['an installation that is no UUID', { installationId: 'mine' }, 'TASKQ_INSTALLATION_ID'],
  ])('%s', (_, props, field) => {
    const refused = expect.objectContaining({ code: 'SETTING_INVALID', field })
    expect(() => templateWith(props)).toThrow(refused)
  })
})

describe('the secret', () => {
  test.each([
    ['by its name', 'example'],
    ['by a partial ARN', secretArn.slice(0, -7)],
    ['by the ARN of something else', 'arn:aws:s3:::bucket'],
    ['by an ARN with a wildcard', secretArn.replace('example', '*')],
  ])('is refused %s', (_, databaseSecret) => {
    const refused = expect.objectContaining({ code: 'OPTION_INVALID', field: 'databaseSecret' })
    expect(() => templateWith({ databaseSecret })).toThrow(refused)
  })

  test.each([
    ['of a role by a partial ARN', { worker: secretArn.slice(0, -7) }, 'databaseSecrets.worker'],
    ['of a role that there is not', { writer: secretArn }, 'databaseSecrets.writer'],
  ])('is refused %s', (_, databaseSecrets, field) => {
    const refused = expect.objectContaining({ code: 'OPTION_INVALID', field })
    expect(() => templateWith({ databaseSecrets: databaseSecrets as object })).toThrow(refused)
  })

  test.each([
    ['it is not given', {}],
    ['it is undefined', { databaseSecret: undefined }],
    ['nothing is given', undefined],
  ])('is refused where %s, and what is missing is said', (_, props) => {
    const refused = expect.objectContaining({
      code: 'OPTION_INVALID',
      field: 'databaseSecret',
      message: expect.stringContaining('is missing: give the secret'),
    })
    expect(() => new TaskQ(newStack(), 'TaskQ', props as never)).toThrow(refused)
  })

  test('of a role may be undefined, and is the owner’s then', () => {
    const given = { databaseSecrets: { worker: undefined } } as object
    expect(templateWith(given).toJSON()).toEqual(templateWith().toJSON())
  })

  test('is refused where the stack knows it by name alone', () => {
    const stack = newStack()
    const databaseSecret = Secret.fromSecretNameV2(stack, 'ByName', 'example')
    expect(() => templateWith({ databaseSecret }, stack)).toThrow(/complete ARN/)
  })

  test('may be one of the same stack, under a key that its reader may use for nothing else', () => {
    const stack = newStack()
    const encryptionKey = new Key(stack, 'Key')
    const template = templateWith(
      { databaseSecret: new Secret(stack, 'Secret', { encryptionKey }) as ISecret },
      stack,
    )
    const roles = Object.values(template.findResources('AWS::IAM::Role')).filter(({ Properties }) =>
      JSON.stringify(Properties).includes('secretsmanager:GetSecretValue'),
    )
    expect(roles).toHaveLength(scheduled.length + 1)
    for (const { Properties } of roles) {
      expect(Properties.Policies[0].PolicyDocument.Statement[2]).toEqual({
        Effect: 'Allow',
        Action: 'kms:Decrypt',
        Resource: { 'Fn::GetAtt': [expect.stringMatching(/^Key/), 'Arn'] },
        Condition: {
          StringEquals: {
            'kms:ViaService': {
              'Fn::Join': ['', ['secretsmanager.', { Ref: 'AWS::Region' }, '.amazonaws.com']],
            },
          },
        },
      })
    }
  })
})

test.each(['databseSecrets', 'alarms', 'toString'])('the unknown property %s is refused by name', field => {
  const refused = expect.objectContaining({
    code: 'OPTION_INVALID',
    field,
    message: expect.stringContaining('databaseSecrets, schema'),
  })
  expect(() => templateWith({ [field]: {} })).toThrow(refused)
})

describe('what stands in the environment', () => {
  test('are the settings that were said, spelt in one way, and no defaults', () => {
    const [environment] = variablesOf(templateWith({ settings: { lockLease: '120s', functionsOff: [] } }))
    expect(environment.Variables).toEqual({
      TASKQ_DATABASE_SECRET_ARN: secretArn,
      TASKQ_DEPLOYMENT_ID: expect.any(String),
      TASKQ_ENVIRONMENT: 'Queues',
      TASKQ_FUNCTIONS_OFF: '',
      TASKQ_INSTALLATION_ID: expect.any(Object),
      TASKQ_LOCK_LEASE: '2m',
      TASKQ_SCHEMA_NAME: 'taskq',
    })
  })

  test('is a deployment id that changes with a setting and with nothing that is not part of it', () => {
    const idOf = (props: Partial<TaskQProps> = {}) =>
      variablesOf(templateWith(props))[0]?.Variables.TASKQ_DEPLOYMENT_ID
    expect(idOf()).toBe(idOf())
    expect(idOf({ logRetention: RetentionDays.ONE_WEEK })).toBe(idOf())
    expect(idOf({ settings: { lockLease: '2m' } })).not.toBe(idOf())
    expect(idOf({ schema: 'tenant_a' })).not.toBe(idOf())
    const reader = secretArn.replace('example', 'reader')
    expect(idOf({ databaseSecrets: { reader } })).not.toBe(idOf())
    expect(idOf({ databaseSecrets: { reader: secretArn } })).toBe(idOf())
  })
})

test('logs are kept as long as is said, and go with the stack where that is said', () => {
  const props = { logRetention: RetentionDays.ONE_YEAR, removalPolicy: RemovalPolicy.DESTROY }
  templateWith(props).allResources('AWS::Logs::LogGroup', {
    Properties: { RetentionInDays: 365 },
    DeletionPolicy: 'Delete',
  })
})

test('definitions that are not there are refused by name', () => {
  const refused = expect.objectContaining({ code: 'OPTION_INVALID', field: 'definitions.entry' })
  expect(() => templateWith({ definitions: { entry: 'no/such/file.ts' } })).toThrow(refused)
})

test('logs are under the key, and functions have the layers, that are given', () => {
  const stack = newStack()
  const layerArn = 'arn:aws:lambda:eu-central-1:111122223333:layer:observer:1'
  const layers = [LayerVersion.fromLayerVersionArn(stack, 'Layer', layerArn)]
  const template = templateWith({ logEncryptionKey: new Key(stack, 'Key'), layers }, stack)
  template.allResourcesProperties('AWS::Logs::LogGroup', {
    KmsKeyId: { 'Fn::GetAtt': [Match.stringLikeRegexp('^Key'), 'Arn'] },
  })
  template.resourcePropertiesCountIs('AWS::Lambda::Function', { Layers: [layerArn] }, scheduled.length + 2)
})

test('a pulsing function has more time than its window, a working one more memory', () => {
  const sizes = scheduled.map(each => ({ kind: kindOf(each), ...sizeOf(each) }))
  const expected = { pulses: [120, 128], drains: [60, 256], fires: [120, 256], watches: [30, 256] }
  expect(new Set(sizes.map(({ kind }) => kind))).toEqual(new Set(Object.keys(expected)))
  for (const { kind, timeout, memoryMb } of sizes)
    expect([timeout.toSeconds(), memoryMb]).toEqual(expected[kind])
})

function kindOf(each: (typeof scheduled)[number]): 'pulses' | 'drains' | 'fires' | 'watches' {
  if (!('pulse' in each)) return 'watches'
  if (each.purpose === 'cron') return 'fires'
  return each.pulse === null ? 'drains' : 'pulses'
}
