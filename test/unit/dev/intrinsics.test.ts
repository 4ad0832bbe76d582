import { describe, expect, test } from 'vitest'
import { evaluate, type Scope } from '../../../functions/dev/intrinsics.ts'

const scope: Scope = {
  stackName: 'Jobs',
  region: 'eu-central-1',
  account: '000000000000',
  resources: {
    Sweep: { Type: 'AWS::Lambda::Function' },
    Named: { Type: 'AWS::Lambda::Function', Properties: { FunctionName: 'named' } },
    Version: { Type: 'AWS::Lambda::Version', Properties: { FunctionName: { Ref: 'Named' } } },
    Topic: { Type: 'AWS::SNS::Topic', Properties: { TopicName: 'page' } },
    Table: { Type: 'AWS::DynamoDB::Table' },
  },
}

describe('what our template uses is evaluated', () => {
  test.each([
    ['a literal', 'text', 'text'],
    ['a number', 7, 7],
    ['a pseudo-parameter', { Ref: 'AWS::Region' }, 'eu-central-1'],
    ['a function’s name', { Ref: 'Sweep' }, 'Jobs-Sweep'],
    [
      'a function’s ARN',
      { 'Fn::GetAtt': ['Named', 'Arn'] },
      'arn:aws:lambda:eu-central-1:000000000000:function:named',
    ],
    ['a version', { Ref: 'Version' }, 'arn:aws:lambda:eu-central-1:000000000000:function:named:1'],
    ['a topic', { Ref: 'Topic' }, 'arn:aws:sns:eu-central-1:000000000000:page'],
    ['a join', { 'Fn::Join': ['-', ['a', { Ref: 'AWS::StackName' }]] }, 'a-Jobs'],
    ['a split', { 'Fn::Split': ['/', 'a/b'] }, ['a', 'b']],
    ['a selection', { 'Fn::Select': [1, { 'Fn::Split': ['/', 'a/b'] }] }, 'b'],
    [
      'a substitution',
      { 'Fn::Sub': `\${AWS::Partition}:\${Named.Arn}:\${Sweep}:\${!Literal}` },
      `aws:arn:aws:lambda:eu-central-1:000000000000:function:named:Jobs-Sweep:\${Literal}`,
    ],
    [
      'a substitution with variables',
      { 'Fn::Sub': [`\${A}!`, { A: { Ref: 'AWS::URLSuffix' } }] },
      'amazonaws.com!',
    ],
    ['the inside of a list and an object', [{ a: { Ref: 'AWS::AccountId' } }], [{ a: '000000000000' }]],
  ])('%s', (_, value, expected) => {
    expect(evaluate(value, scope, 'here')).toEqual(expected)
  })

  test('the id in a stack’s ARN is a UUID', () => {
    const id = { 'Fn::Select': [2, { 'Fn::Split': ['/', { Ref: 'AWS::StackId' }] }] }
    expect(evaluate(id, scope, 'here')).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  })
})

describe('anything else is refused by name and place', () => {
  test.each([
    [{ 'Fn::ImportValue': 'x' }, 'here: Fn::ImportValue is not evaluated locally'],
    [{ 'Fn::If': ['C', 1, 2] }, 'here: Fn::If is not evaluated locally'],
    [{ 'Fn::FindInMap': ['a', 'b', 'c'] }, 'here: Fn::FindInMap is not evaluated locally'],
    [{ Ref: 'Table' }, 'here: Ref to Table of type AWS::DynamoDB::Table'],
    [{ Ref: 'Nothing' }, 'here: Ref to Nothing, which is no resource'],
    [{ Ref: 'AWS::NotificationARNs' }, 'here: Ref to AWS::NotificationARNs'],
    [{ 'Fn::GetAtt': ['Named', 'Runtime'] }, 'here: Fn::GetAtt Named.Runtime'],
    [{ 'Fn::GetAtt': ['Table', 'Arn'] }, 'here: Fn::GetAtt Table.Arn (AWS::DynamoDB::Table)'],
    [{ 'Fn::Select': [4, ['a']] }, 'here: Fn::Select finds nothing at 4'],
    [{ deep: [{ Ref: 'Table' }] }, 'here.deep[0]: Ref to Table'],
  ])('%j', (value, reason) => {
    expect(() => evaluate(value, scope, 'here')).toThrow(reason)
  })
})
