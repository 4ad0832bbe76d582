import { Stack } from 'aws-cdk-lib'
import { Annotations, Match } from 'aws-cdk-lib/assertions'
import {
  InterfaceVpcEndpoint,
  InterfaceVpcEndpointAwsService,
  IpAddresses,
  type IVpc,
  Port,
  SecurityGroup,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2'
import { DatabaseInstance, DatabaseInstanceEngine } from 'aws-cdk-lib/aws-rds'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildBundles } from '../../infra/bundles.ts'
import type { TaskQProps } from '../../infra/taskq.ts'
import { fastApp, idsOf, queueIn, type Resources, resourcesOf } from '../support/templates.ts'

beforeAll(() => buildBundles())

const { PRIVATE_ISOLATED, PRIVATE_WITH_EGRESS } = SubnetType

/** A stack with a network of these kinds of subnets. */
function networked(...kinds: SubnetType[]): { stack: Stack; vpc: IVpc } {
  const stack = new Stack(fastApp(), 'Queues')
  const subnetConfiguration = [...kinds, SubnetType.PUBLIC].map(subnetType => ({
    name: subnetType,
    subnetType,
  }))
  const ipAddresses = IpAddresses.cidr('10.0.0.0/16')
  return {
    stack,
    vpc: new Vpc(stack, 'Vpc', { ipAddresses, maxAzs: 1, natGateways: 1, subnetConfiguration }) as IVpc,
  }
}

const networkOf = (resources: Resources, pattern: RegExp) =>
  idsOf(resources, 'AWS::Lambda::Function', pattern).map(id => resources[id]?.Properties['VpcConfig'])

describe('in a network', () => {
  test('every function has one group, which the database can let in, but smoke, which speaks to AWS', () => {
    const { stack, vpc } = networked(PRIVATE_WITH_EGRESS)
    const database = new SecurityGroup(stack, 'Database', { vpc })
    const queue = queueIn(stack, { vpc, definitions: { entry: import.meta.filename } })
    database.connections.allowFrom(queue, Port.tcp(5432))
    queue.addWorker('Mail', { entry: import.meta.filename, queues: ['mail'] })
    const resources = resourcesOf(stack)
    const group = { 'Fn::GetAtt': [expect.stringMatching(/^TaskQSecurityGroup/), 'GroupId'] }
    const made = networkOf(resources, /^TaskQ(?!Smoke)/)
    expect(made).toHaveLength(Object.keys(queue.functions).length)
    for (const network of made) {
      const subnet = { Ref: expect.stringMatching(/^VpcPrivate/) }
      expect(network).toEqual({ SecurityGroupIds: [group], SubnetIds: [subnet] })
    }
    expect(networkOf(resources, /^TaskQSmoke/)).toEqual([undefined])
    const rules = idsOf(resources, 'AWS::EC2::SecurityGroupIngress').map(id => resources[id]?.Properties)
    expect(rules).toMatchObject([{ SourceSecurityGroupId: group, FromPort: 5432, ToPort: 5432 }])
  })

  test('is let in by a database that stands with the network in another stack', () => {
    const app = fastApp()
    const data = new Stack(app, 'Data')
    const vpc = new Vpc(data, 'Vpc', { ipAddresses: IpAddresses.cidr('10.0.0.0/16') }) as IVpc
    const engine = DatabaseInstanceEngine.POSTGRES
    const database = new DatabaseInstance(data, 'Database', { engine, vpc })
    const stack = new Stack(app, 'Queues')
    const queue = queueIn(stack, { vpc })
    queue.connections.allowToDefaultPort(database)
    expect(() => app.synth()).not.toThrow()
    const resources = resourcesOf(stack)
    const rules = idsOf(resources, 'AWS::EC2::SecurityGroupIngress').map(id => resources[id]?.Properties)
    const group = { 'Fn::GetAtt': [expect.stringMatching(/^TaskQSecurityGroup/), 'GroupId'] }
    expect(rules).toMatchObject([{ SourceSecurityGroupId: group }])
  })

  test('the functions have the groups and subnets that are given', () => {
    const { stack, vpc } = networked(PRIVATE_WITH_EGRESS, PRIVATE_ISOLATED)
    const groups = ['One', 'Two'].map(id => new SecurityGroup(stack, id, { vpc }))
    queueIn(stack, { vpc, securityGroups: groups, vpcSubnets: { subnetType: PRIVATE_ISOLATED } })
    const resources = resourcesOf(stack)
    expect(networkOf(resources, /^TaskQPromotion/)).toEqual([
      {
        SecurityGroupIds: ['One', 'Two'].map(id => ({
          'Fn::GetAtt': [expect.stringMatching(new RegExp(`^${id}`)), 'GroupId'],
        })),
        SubnetIds: [{ Ref: expect.stringMatching(/^VpcIsolated/) }],
      },
    ])
    expect(idsOf(resources, 'AWS::EC2::SecurityGroup', /^TaskQ/)).toEqual([])
  })
})

describe('a place in no network', () => {
  test.each<[string, Partial<TaskQProps>]>([
    ['vpcSubnets', { vpcSubnets: { subnetType: PRIVATE_ISOLATED } }],
    ['securityGroups', { securityGroups: [] }],
  ])('is refused as %s', (field, props) => {
    expect(() => queueIn(undefined, props)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', field }),
    )
  })

  test('is refused to who asks for it', () => {
    const queue = queueIn()
    expect(() => queue.connections).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', field: 'vpc' }))
  })
})

describe('a warning that Secrets Manager may be out of reach', () => {
  const service = InterfaceVpcEndpointAwsService.SECRETS_MANAGER
  const isolated = { vpcSubnets: { subnetType: PRIVATE_ISOLATED } }
  const warned = (stack: Stack) =>
    Annotations.fromStack(stack).findWarning('/Queues/TaskQ', Match.stringLikeRegexp('Secrets Manager'))
      .length

  test('is given where the subnets have no way out', () => {
    const { stack, vpc } = networked(PRIVATE_WITH_EGRESS, PRIVATE_ISOLATED)
    queueIn(stack, { vpc, ...isolated })
    expect(warned(stack)).toBe(1)
  })

  test('is not given where they have one', () => {
    const { stack, vpc } = networked(PRIVATE_WITH_EGRESS, PRIVATE_ISOLATED)
    queueIn(stack, { vpc })
    expect(warned(stack)).toBe(0)
  })

  test('is not given where the network has an endpoint, made wherever and however late', () => {
    const { stack, vpc } = networked(PRIVATE_ISOLATED)
    queueIn(stack, { vpc, ...isolated })
    new InterfaceVpcEndpoint(new Stack(stack.node.root as never, 'Later'), 'Endpoint', { vpc, service })
    expect(warned(stack)).toBe(0)
  })

  test('is given where an endpoint stands in another network, or is for another service', () => {
    const { stack, vpc } = networked(PRIVATE_ISOLATED)
    new Vpc(stack, 'Other', { ipAddresses: IpAddresses.cidr('10.1.0.0/16') }).addInterfaceEndpoint(
      'Secrets',
      {
        service,
      },
    )
    vpc.addInterfaceEndpoint('Logs', { service: InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS })
    queueIn(stack, { vpc, ...isolated })
    expect(warned(stack)).toBe(1)
  })
})
