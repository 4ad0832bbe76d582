import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Stack } from 'aws-cdk-lib'
import { SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2'
import { Tracing } from 'aws-cdk-lib/aws-lambda'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildBundles } from '../../infra/bundles.ts'
import { newApp } from '../../infra/synthesis.ts'
import { secretArn } from '../support/synthesis.ts'
import { queueIn } from '../support/templates.ts'

const folder = mkdtempSync(join(tmpdir(), 'taskq-user-code-'))
afterAll(() => rmSync(folder, { recursive: true }))

const userCode = (file: string) => join(import.meta.dirname, '../support/user-code', file)

/** A stack with everything at once, bundled for real and held to every rule; what is found is thrown. */
function synthesizeAll(): void {
  const app = newApp({ outdir: folder })
  const stack = new Stack(app, 'Queues')
  const vpc = Vpc.fromVpcAttributes(stack, 'Vpc', {
    vpcId: 'vpc-0123456789abcdef0',
    availabilityZones: ['a'],
    privateSubnetIds: ['subnet-0123456789abcdef0'],
    privateSubnetRouteTableIds: ['rtb-0123456789abcdef0'],
  })
  const queue = queueIn(stack, {
    definitions: { entry: userCode('definitions.ts') },
    databaseSecrets: { worker: secretArn.replace('example', 'worker') },
    vpc,
    vpcSubnets: { subnetType: SubnetType.PRIVATE_WITH_EGRESS },
    tracing: Tracing.ACTIVE,
  })
  queue.addWorker('Mail', { entry: userCode('worker.ts'), queues: ['mail'] })
  app.synth()
}

beforeAll(async () => {
  await buildBundles()
  synthesizeAll()
})

interface Template {
  readonly Resources: Readonly<
    Record<string, { Type: string; Properties: { Code?: { S3Key: string }; Handler?: string } }>
  >
}

/** The bundle of a function in the assembly. */
function bundleOf(pattern: RegExp): string {
  const { Resources } = JSON.parse(readFileSync(join(folder, 'Queues.template.json'), 'utf8')) as Template
  const [found] = Object.entries(Resources).filter(
    ([id, { Type }]) => Type === 'AWS::Lambda::Function' && pattern.test(id),
  )
  return join(folder, `asset.${found?.[1].Properties.Code?.S3Key.replace('.zip', '')}`)
}

describe('a stack with everything, a network and X-Ray included', () => {
  test('holds to every rule', () => {
    expect(readdirSync(folder)).toContain('Queues.template.json')
  })

  test.each([
    ['the definitions', /^TaskQSyncFunction/, 'send-mail'],
    ['what fires schedules', /^TaskQCronFunction/, 'send-mail'],
    ['a worker', /^TaskQMailFunction/, 'sentTo'],
  ])('has the code of %s in one module that loads and has a handler', async (_, pattern, own) => {
    const bundle = bundleOf(pattern)
    expect(readdirSync(bundle)).toEqual(['index.mjs'])
    const text = readFileSync(join(bundle, 'index.mjs'), 'utf8')
    expect(text).toContain(own)
    expect(text).not.toContain('taskq-definitions')
    expect(text).not.toContain(import.meta.dirname)
    const loaded = await import(/* @vite-ignore */ pathToFileURL(join(bundle, 'index.mjs')).href)
    expect(loaded).toMatchObject({ handler: expect.any(Function) })
  })
})
