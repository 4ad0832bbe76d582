import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CfnResource, Stack } from 'aws-cdk-lib'
import { Bucket } from 'aws-cdk-lib/aws-s3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newApp } from '../../infra/synthesis.ts'

const folder = mkdtempSync(join(tmpdir(), 'taskq-findings-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Everything that a template of ours must not hold, at once: one synthesis costs seconds. */
function plant(stack: Stack): void {
  const trust = { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } }
  const named = {
    Effect: 'Allow',
    Action: 's3:GetObject',
    Resource: { 'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, ':s3:::a/b']] },
  }
  const wild = { Effect: 'Allow', Action: 's3:GetObject', Resource: ['arn:aws:s3:::a/b', '*'] }
  const role = (id: string, statement: object) =>
    new CfnResource(stack, id, {
      type: 'AWS::IAM::Role',
      properties: {
        AssumeRolePolicyDocument: { Version: '2012-10-17', Statement: [trust] },
        Policies: [{ PolicyName: 'p', PolicyDocument: { Version: '2012-10-17', Statement: [statement] } }],
      },
    })
  role('Wild', wild)
  const interfaces = ['ec2:DescribeSubnets', 'ec2:DeleteNetworkInterface']
  role('Interfaces', { Effect: 'Allow', Action: interfaces, Resource: '*' })
  role('Hidden', { Effect: 'Allow', Action: [...interfaces, 'ec2:DeleteVpc'], Resource: '*' })
  new CfnResource(stack, 'Attached', {
    type: 'AWS::IAM::Policy',
    properties: {
      PolicyName: 'p',
      PolicyDocument: { Version: '2012-10-17', Statement: [{ ...wild, Resource: '*' }] },
      Roles: ['somebody'],
    },
  })
  const code = { Code: { ZipFile: 'x' }, Handler: 'index.handler', Runtime: 'nodejs24.x' }
  const made = new CfnResource(stack, 'Function', {
    type: 'AWS::Lambda::Function',
    properties: {
      ...code,
      Role: role('Named', named).getAtt('Arn'),
      Environment: {
        Variables: { PLAIN: 'postgres://app:secret@h/d', LATER: { Ref: 'AWS::Region' } },
      },
    },
  })
  new CfnResource(stack, 'Retried', {
    type: 'AWS::Lambda::EventInvokeConfig',
    properties: {
      FunctionName: made.ref,
      Qualifier: '$LATEST',
      MaximumRetryAttempts: 1,
      MaximumEventAgeInSeconds: 61,
    },
  })
  new CfnResource(stack, 'Late', {
    type: 'AWS::Events::Rule',
    properties: { ScheduleExpression: 'rate(1 minute)', Targets: [{ Id: 'a', Arn: made.getAtt('Arn') }] },
  })
  new CfnResource(stack, 'Misspelt', { type: 'AWS::SNS::Topic', properties: { TopicNam: 'a' } })
  new Bucket(stack, 'Plain')
}

describe('a finding ends the synthesis', () => {
  let findings: string[] = []
  beforeAll(() => {
    const app = newApp({ outdir: folder })
    plant(new Stack(app, 'S'))
    const told = messageOf(() => app.synth())
    const blocks = told.matchAll(/^ERROR .*\n\s+(\S+) .*\n\s+Acknowledge with '([^']+)'/gm)
    findings = [...blocks].map(([, path, rule]) => `${rule} ${path}`)
  })

  test.each([
    ['of cdk-nag', 'AwsSolutions::AwsSolutions-S10 S/Plain/Resource'],
    ['of CDK’s own validation', 'CloudFormation-Validate::F3002 S/Misspelt'],
    ['an event that is tried twice', 'CloudFormation-Validate::no_second_try S/Retried'],
    ['a start that may come late', 'CloudFormation-Validate::no_late_start S/Late'],
    ['a wildcard among the resources', 'CloudFormation-Validate::no_wildcard S/Wild'],
    ['one that hides among actions that know no resource', 'CloudFormation-Validate::no_wildcard S/Hidden'],
    ['one of a policy that is attached', 'CloudFormation-Validate::no_wildcard S/Attached'],
    ['a password in an environment', 'CloudFormation-Validate::no_literal_password S/Function'],
  ])('%s', (_, finding) => {
    expect(findings).toContain(finding)
  })

  test('and what only looks like one is none', () => {
    expect(findings.filter(finding => finding.endsWith('S/Named'))).toEqual([])
    expect(findings).not.toContain('CloudFormation-Validate::no_wildcard S/Interfaces')
  })
})

function messageOf(call: () => unknown): string {
  try {
    return `nothing was found: ${call()}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
