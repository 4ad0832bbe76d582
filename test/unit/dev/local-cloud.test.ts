import { rmSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { LocalCloud } from '../../../functions/dev/local-cloud.ts'
import { readStack } from '../../../functions/dev/local-stack.ts'
import { writeStack } from './fixture-stack.ts'

const place = { region: 'eu-central-1', account: '000000000000' }
const secretArn = 'arn:aws:secretsmanager:eu-central-1:000000000000:secret:database-local1'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function cloudOf(options: Parameters<typeof writeStack>[0]) {
  const folder = writeStack(options)
  const lines: string[] = []
  const stack = readStack(folder, place)
  const secrets = { [secretArn]: 'postgres://nobody@localhost/none' }
  const cloud = await LocalCloud.start({ stack, secrets, onLine: (_, line) => lines.push(line) })
  cleanups.push(() => cloud.stop())
  cleanups.push(() => rmSync(folder, { recursive: true }))
  return { cloud, stack, lines, sweep: cloud.functionOf('made_up_sweep') }
}

describe('a function runs from its asset', () => {
  test('with the environment that stands in the template, and no other', async () => {
    const { cloud, sweep } = await cloudOf({
      bundle: 'export const handler = async () => process.env',
      variables: { TASKQ_SCHEMA_NAME: 'jobs', TASKQ_DATABASE_SECRET_ARN: { 'Fn::Sub': `x:\${AWS::Region}` } },
    })
    const environment = await cloud.invoke(sweep, {})
    expect(environment).toMatchObject({
      TASKQ_SCHEMA_NAME: 'jobs',
      TASKQ_DATABASE_SECRET_ARN: 'x:eu-central-1',
      AWS_LAMBDA_FUNCTION_NAME: 'Local-made_up_sweep',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '256',
    })
    expect(environment).not.toHaveProperty('PATH')
  })

  test('with EventBridge’s event, a context, and a log', async () => {
    const { cloud, sweep, lines } = await cloudOf({
      bundle: `export const handler = async (event, context) => {
        process.stdout.write('seen\\n')
        return { event, left: context.getRemainingTimeInMillis(), arn: context.invokedFunctionArn }
      }`,
      timeout: 30,
    })
    const answer = (await cloud.invoke(sweep, cloud.scheduledEvent(sweep))) as { left: number }
    expect(answer).toMatchObject({
      arn: 'arn:aws:lambda:eu-central-1:000000000000:function:Local-made_up_sweep',
      event: {
        version: '0',
        source: 'aws.events',
        'detail-type': 'Scheduled Event',
        account: '000000000000',
        region: 'eu-central-1',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        resources: ['arn:aws:events:eu-central-1:000000000000:rule/Local-SweepRule'],
        detail: {},
      },
    })
    expect(answer.left).toBeGreaterThan(20_000)
    expect(answer.left).toBeLessThanOrEqual(30_000)
    await expect.poll(() => lines, { timeout: 10_000 }).toContain('seen')
  })

  test('warm between events, beside itself while it is busy', async () => {
    const { cloud, sweep } = await cloudOf({
      bundle: `let count = 0
        export const handler = async event => {
          count++
          if (event.wait) await new Promise(done => setTimeout(done, 50))
          return count
        }`,
    })
    expect(await cloud.invoke(sweep, {})).toBe(1)
    expect(await cloud.invoke(sweep, {})).toBe(2)
    expect(
      await Promise.all([cloud.invoke(sweep, { wait: true }), cloud.invoke(sweep, { wait: true })]),
    ).toEqual([3, 1])
  })

  test('and its secret is read from the local endpoint', async () => {
    const { cloud, sweep } = await cloudOf({
      bundle: `export const handler = async SecretId => {
        const answer = await fetch(process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER, {
          method: 'POST',
          headers: { 'x-amz-target': 'secretsmanager.GetSecretValue' },
          body: JSON.stringify({ SecretId }),
        })
        return { status: answer.status, body: await answer.json() }
      }`,
    })
    expect(await cloud.invoke(sweep, secretArn)).toMatchObject({
      status: 200,
      body: {
        ARN: secretArn,
        SecretString: 'postgres://nobody@localhost/none',
        VersionStages: ['AWSCURRENT'],
      },
    })
    expect(await cloud.invoke(sweep, 'another')).toMatchObject({
      status: 400,
      body: { __type: 'ResourceNotFoundException' },
    })
  })

  test('a trigger’s function is what a deploy invokes', async () => {
    const { cloud, stack, sweep, lines } = await cloudOf({
      bundle: "export const handler = async () => { process.stdout.write('deployed\\n') }",
    })
    expect(stack.steps).toEqual([{ functionArn: sweep.arn }])
    await cloud.deploy()
    await expect.poll(() => lines, { timeout: 10_000 }).toEqual(['deployed'])
  })
})

describe('a function fails as in Lambda', () => {
  test('a thrown error arrives with its name, message and code', async () => {
    const { cloud, sweep } = await cloudOf({
      bundle: `export const handler = async () => {
        throw Object.assign(new TypeError('no such target'), { code: 'WRONG_TARGET' })
      }`,
    })
    await expect(cloud.invoke(sweep, {})).rejects.toMatchObject({
      failure: { errorType: 'TypeError', errorMessage: 'no such target', code: 'WRONG_TARGET' },
    })
  })

  test('one that outlives its timeout is ended, and the next event finds a fresh one', async () => {
    const { cloud, sweep } = await cloudOf({
      bundle: `export const handler = async event => {
        if (event.hang) for (;;);
        return 'fresh'
      }`,
      timeout: 1,
    })
    await expect(cloud.invoke(sweep, { hang: true })).rejects.toThrow('Task timed out after 1.00 seconds')
    expect(await cloud.invoke(sweep, {})).toBe('fresh')
  })

  test('one that ends its process is an error, not a silence', async () => {
    const { cloud, sweep } = await cloudOf({ bundle: 'export const handler = async () => process.exit(7)' })
    await expect(cloud.invoke(sweep, {})).rejects.toThrow('exited with code 7')
  })

  test('a bundle that does not load fails its invocation', async () => {
    const { cloud, sweep } = await cloudOf({ bundle: "throw new Error('cold start failed')" })
    await expect(cloud.invoke(sweep, {})).rejects.toThrow('cold start failed')
  })
})

test('a template with what is not evaluated is refused by name', () => {
  const folder = writeStack({ bundle: '', variables: { URL: { 'Fn::ImportValue': 'other' } } })
  cleanups.push(() => rmSync(folder, { recursive: true }))
  expect(() => readStack(folder, place)).toThrow('Sweep1A2B.Environment.URL: Fn::ImportValue')
})
