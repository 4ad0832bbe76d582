import { Duration, Stack } from 'aws-cdk-lib'
import { SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Key } from 'aws-cdk-lib/aws-kms'
import { Code, Function as LambdaFunction, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda'
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildBundles } from '../../infra/bundles.ts'
import type { TaskQProps } from '../../infra/taskq.ts'
import { scheduled } from '../../shared/sweeps/index.ts'
import { secretArn } from '../support/synthesis.ts'
import { allowedTo, fastApp, idsOf, queueIn, type Resources, resourcesOf } from '../support/templates.ts'

const entry = import.meta.filename
const secretOf = (role: string) => `arn:aws:secretsmanager:eu-central-1:111122223333:secret:${role}-AbCdEf`
const own = {
  client: secretOf('client'),
  worker: secretOf('worker'),
  maintenance: secretOf('maintenance'),
  reader: secretOf('reader'),
}

/** Every kind of role that a queue makes or adds to, in one stack; those of others are named `Grantee`. */
function everything(given: (stack: Stack) => Partial<TaskQProps> = () => ({})): Resources {
  const stack = new Stack(fastApp(), 'Queues')
  const queue = queueIn(stack, { definitions: { entry }, ...given(stack) })
  const role = (id: string) =>
    new Role(stack, id, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') })
  const made = (id: string) =>
    new LambdaFunction(stack, id, {
      runtime: Runtime.NODEJS_24_X,
      handler: 'index.handler',
      code: Code.fromInline('//'),
      timeout: Duration.minutes(1),
      role: role(`Grantee${id}`),
    })
  queue.grantEnqueue(made('Function'))
  queue.grantEnqueue(role('GranteePrincipal'))
  const both = made('Both')
  queue.attachWorker(both, { queues: ['mail'] })
  queue.grantEnqueue(both)
  queue.addWorker('Bulk', { entry, queues: ['bulk'] })
  return resourcesOf(stack)
}

beforeAll(() => buildBundles())

const arnOf = (id: string) => ({
  'Fn::GetAtt': [expect.stringMatching(new RegExp(`^${id}[0-9A-F]{8}$`)), 'Arn'],
})
const log = (path: string) => ({
  Action: ['logs:CreateLogStream', 'logs:PutLogEvents'],
  Resource: arnOf(`TaskQ${path}Log`),
})
const read = (secret: unknown) => ({ Action: 'secretsmanager:GetSecretValue', Resource: secret })
const ask = (...functions: string[]) => ({
  Action: 'lambda:InvokeFunction',
  Resource: functions.map(name => arnOf(`TaskQ${name}Function`)),
})

/** What a rule starts, as its construct is named: `ExpiredLocks` of `expired_locks`. */
const started = scheduled.map(({ purpose }) =>
  purpose.replaceAll(/(^|_)([a-z])/g, (_, _before, letter: string) => letter.toUpperCase()),
)

/** What each role may do: the whole of it, and so the place where a right is added. */
const table = (secrets: Readonly<Record<keyof typeof own | 'owner', string>>) => ({
  ...Object.fromEntries(started.map(name => [`TaskQ${name}Role`, [log(name), read(secrets.maintenance)]])),
  TaskQMigrateRole: [log('Migrate'), read(secrets.owner)],
  TaskQSyncRole: [log('Sync'), read(secrets.owner)],
  TaskQSmokeAskRole: [log('SmokeAsk'), ask(...started)],
  TaskQBulkRole: [log('Bulk'), read(secrets.worker)],
  GranteeFunction: [read(secrets.client)],
  GranteePrincipal: [read(secrets.client)],
  GranteeBoth: [read(secrets.worker)],
})

/** Every role of a template but that of CDK's own machinery, by its name without the hash. */
function rolesOf(resources: Resources): Record<string, unknown[]> {
  const ids = idsOf(resources, 'AWS::IAM::Role', /^(?!AWSCDK)/)
  return Object.fromEntries(ids.map(id => [id.replace(/[0-9A-F]{8}$/, ''), allowedTo(resources, id)]))
}

describe('each role may do what stands in the table, and nothing else', () => {
  test('with one secret for all', () => {
    const all = {
      owner: secretArn,
      client: secretArn,
      worker: secretArn,
      maintenance: secretArn,
      reader: secretArn,
    }
    expect(rolesOf(everything())).toEqual(table(all))
  })

  test('with a secret for each kind of user', () => {
    expect(rolesOf(everything(() => ({ databaseSecrets: own })))).toEqual(table({ owner: secretArn, ...own }))
  })

  test('and the function of CDK’s own that sends the triggers may send these two', () => {
    const resources = everything()
    const [id = ''] = idsOf(resources, 'AWS::IAM::Role', /^AWSCDK/)
    const versionsOf = (name: string) => ({ 'Fn::Join': ['', [arnOf(`TaskQ${name}Function`), ':*']] })
    expect(allowedTo(resources, id)).toEqual(
      ['Migrate', 'Sync'].map(name => ({
        Action: ['lambda:InvokeFunction'],
        Resource: [versionsOf(name)],
      })),
    )
  })

  test('and has no managed policy, as none of them has', () => {
    const resources = everything()
    for (const id of idsOf(resources, 'AWS::IAM::Role', /^(?!AWSCDK)/))
      expect(resources[id]?.Properties, id).not.toHaveProperty('ManagedPolicyArns')
    expect(idsOf(resources, 'AWS::IAM::ManagedPolicy')).toEqual([])
  })

  test('under a key of the customer’s own, which it may use for this secret’s sake alone', () => {
    const resources = everything(stack => {
      const encryptionKey = new Key(stack, 'Key')
      return { databaseSecrets: { client: new Secret(stack, 'ClientSecret', { encryptionKey }) as ISecret } }
    })
    const decrypt = {
      Action: 'kms:Decrypt',
      Resource: arnOf('Key'),
      Condition: {
        StringEquals: {
          'kms:ViaService': {
            'Fn::Join': ['', ['secretsmanager.', { Ref: 'AWS::Region' }, '.amazonaws.com']],
          },
        },
      },
    }
    const client = [read({ Ref: expect.stringMatching(/^ClientSecret/) }), decrypt]
    const roles = rolesOf(resources)
    expect([roles['GranteeFunction'], roles['GranteePrincipal']]).toEqual([client, client])
    expect(JSON.stringify({ ...roles, GranteeFunction: 0, GranteePrincipal: 0 })).not.toContain('kms:')
  })

  test('and in a network what Lambda needs there, and with X-Ray what that needs', () => {
    const interfaces = {
      Action: [
        'ec2:CreateNetworkInterface',
        'ec2:DescribeNetworkInterfaces',
        'ec2:DescribeSubnets',
        'ec2:DeleteNetworkInterface',
        'ec2:AssignPrivateIpAddresses',
        'ec2:UnassignPrivateIpAddresses',
      ],
      Resource: '*',
    }
    const traces = { Action: ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'], Resource: '*' }
    const roles = rolesOf(
      everything(stack => {
        const subnets = { availabilityZones: ['a'], privateSubnetIds: ['subnet-1'] }
        const vpc = Vpc.fromVpcAttributes(stack, 'Vpc', { vpcId: 'vpc-1', ...subnets })
        return { vpc, securityGroups: [new SecurityGroup(stack, 'Group', { vpc })], tracing: Tracing.ACTIVE }
      }),
    )
    const sorted = (statement: { Action: string[] }) => ({
      ...statement,
      Action: expect.toSatisfy(
        (actions: string[]) => `${[...actions].sort()}` === `${statement.Action.sort()}`,
      ),
    })
    const added = (path: string) => [log(path), read(secretArn), sorted(interfaces), sorted(traces)]
    expect(roles['TaskQPromotionRole']).toEqual(added('Promotion'))
    expect(roles['TaskQMigrateRole']).toEqual(added('Migrate'))
    const smoke = [log('SmokeAsk'), ask(...started), sorted(traces)]
    expect(roles['TaskQSmokeAskRole']).toEqual(smoke)
    expect(roles['GranteeFunction']).toEqual([read(secretArn)])
  })
})
