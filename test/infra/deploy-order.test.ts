import { Duration, Stack } from 'aws-cdk-lib'
import { Vpc } from 'aws-cdk-lib/aws-ec2'
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildBundles } from '../../infra/bundles.ts'
import type { TaskQProps } from '../../infra/taskq.ts'
import { scheduled } from '../../shared/sweeps/index.ts'
import { awaited, fastApp, idsOf, queueIn, type Resources, resourcesOf } from '../support/templates.ts'

const code = { runtime: Runtime.NODEJS_24_X, handler: 'index.handler', code: Code.fromInline('//') }
const entry = import.meta.filename

/** A queue with everything that runs beside it in its stack. */
function everything(given: Partial<TaskQProps> | ((stack: Stack) => Partial<TaskQProps>) = {}): Resources {
  const stack = new Stack(fastApp(), 'Queues')
  const props = typeof given === 'function' ? given(stack) : given
  const attached = new LambdaFunction(stack, 'Attached', { ...code, timeout: Duration.minutes(1) })
  const granted = new LambdaFunction(stack, 'Granted', code)
  const queue = queueIn(stack, { definitions: { entry }, ...props })
  queue.attachWorker(attached, { queues: ['mail'] })
  queue.addWorker('Added', { entry, queues: ['bulk'] })
  queue.grantEnqueue(granted)
  return resourcesOf(stack)
}

let resources: Resources
beforeAll(async () => {
  await buildBundles()
  resources = everything()
})

const trigger = (name: string) => {
  const [id = ''] = idsOf(resources, 'Custom::Trigger', new RegExp(`^TaskQ${name}Trigger`))
  return id
}
const smokeRun = () => idsOf(resources, 'Custom::TaskQSmoke')[0] ?? ''

/** All that runs, or makes something run. */
const running = [
  'AWS::Lambda::Function',
  'AWS::Lambda::Version',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Lambda::Permission',
  'AWS::Events::Rule',
]
/** What a deployment runs before all others, what it runs that by, and who only enqueues when asked. */
const apart = /^(TaskQ(Migrate|Sync)|AWSCDK|Granted)/

test('two syntheses come to the same', () => {
  expect(everything()).toEqual(resources)
})

describe('nothing new runs', () => {
  test.each(['Migrate', 'Sync'])('before %s succeeded', step => {
    const later = running.flatMap(type => idsOf(resources, type)).filter(id => !apart.test(id))
    // A function, its asynchronous configuration, its rule, that one's permission; smoke has the first two.
    expect(later).toHaveLength(4 * (scheduled.length + 2) + 2)
    for (const id of later) expect(awaited(resources, id), id).toContain(trigger(step))
  })

  test('before the one deployment step that comes before its own', () => {
    expect(awaited(resources, trigger('Sync'))).toContain(trigger('Migrate'))
    expect(awaited(resources, trigger('Migrate'))).not.toContain(trigger('Sync'))
    const before = idsOf(resources, 'AWS::Lambda::Function', /^TaskQ(Migrate|Sync)/)
    expect(before).toHaveLength(2)
    for (const id of before) expect(awaited(resources, id), id).not.toContain(trigger('Migrate'))
  })

  test('that was not migrated for: both steps run again with any change of a setting', () => {
    const changed = everything({ settings: { lockLease: '2m' } })
    const versions = idsOf(resources, 'AWS::Lambda::Version')
    expect(versions).toHaveLength(2)
    expect(idsOf(changed, 'AWS::Lambda::Version')).toHaveLength(2)
    for (const id of versions) expect(idsOf(changed, 'AWS::Lambda::Version')).not.toContain(id)
    for (const id of idsOf(resources, 'Custom::Trigger')) {
      expect(resources[id]?.Properties).toMatchObject({
        HandlerArn: { Ref: expect.stringMatching(/^TaskQ(Migrate|Sync)FunctionCurrentVersion/) },
        InvocationType: 'RequestResponse',
        ExecuteOnHandlerChange: true,
        Timeout: '840000',
      })
    }
  })
})

describe('smoke', () => {
  test('runs after every function and rule of the queue, and nothing waits for it', () => {
    const earlier = running.flatMap(type => idsOf(resources, type, /^TaskQ(?!Smoke|Migrate|Sync)/))
    expect(earlier.length).toBeGreaterThan(4 * scheduled.length)
    const waited = awaited(resources, smokeRun())
    for (const id of earlier) expect(waited, id).toContain(id)
    for (const id of Object.keys(resources)) expect(awaited(resources, id), id).not.toContain(smokeRun())
  })

  test('is sent the name of each function that a rule starts, and of no other', () => {
    const off = everything({ settings: { functionsOff: ['promotion'] } })
    const [asked] = idsOf(off, 'Custom::TaskQSmoke').map(id => off[id]?.Properties)
    expect(Object.keys(asked?.['Functions'] ?? {})).toEqual(
      scheduled.map(({ purpose }) => purpose).filter(purpose => purpose !== 'promotion'),
    )
    expect(resources[smokeRun()]?.Properties).toMatchObject({
      ServiceToken: { 'Fn::GetAtt': [expect.stringMatching(/^TaskQSmokeAskFunction/), 'Arn'] },
      ServiceTimeout: '360',
      Functions: Object.fromEntries(
        scheduled.map(({ purpose }) => [purpose, { Ref: expect.stringMatching(/^TaskQ\w+Function/) }]),
      ),
    })
  })

  test('is not there where every function is off', () => {
    const settings = { functionsOff: scheduled.map(({ purpose }) => purpose) }
    expect(idsOf(everything({ settings }), 'Custom::TaskQSmoke')).toEqual([])
  })

  test('runs again with any change of a function, and with nothing else', () => {
    const madeOf = (changed: Resources) =>
      idsOf(changed, 'Custom::TaskQSmoke').map(id => changed[id]?.Properties['Made'])[0]
    const unchanged = madeOf(resources)
    expect(madeOf(everything())).toBe(unchanged)
    expect(madeOf(everything({ logRetention: 7 }))).toBe(unchanged)
    expect(madeOf(everything({ settings: { lockLease: '2m' } }))).not.toBe(unchanged)
    expect(madeOf(everything({ databaseSecrets: { maintenance: otherSecret } }))).not.toBe(unchanged)
    expect(madeOf(everything(inNetwork))).not.toBe(unchanged)
  })
})

function inNetwork(stack: Stack): Partial<TaskQProps> {
  const subnets = { availabilityZones: ['a'], privateSubnetIds: ['subnet-1'] }
  return { vpc: Vpc.fromVpcAttributes(stack, 'Vpc', { vpcId: 'vpc-1', ...subnets }) }
}

const otherSecret = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:other-AbCdEf'
