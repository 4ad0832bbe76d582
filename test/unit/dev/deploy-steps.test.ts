import { rmSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { LocalCloud } from '../../../functions/dev/local-cloud.ts'
import { readStack } from '../../../functions/dev/local-stack.ts'
import { writeStack } from './fixture-stack.ts'

const place = { region: 'eu-central-1', account: '000000000000' }
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function cloudOf(bundle: string, resources: Record<string, unknown> = {}) {
  const folder = writeStack({ bundle, resources })
  cleanups.push(() => rmSync(folder, { recursive: true }))
  const stack = readStack(folder, place)
  const lines: string[] = []
  const cloud = await LocalCloud.start({ stack, secrets: {}, onLine: (_, line) => lines.push(line) })
  cleanups.unshift(() => cloud.stop())
  return { cloud, stack, lines, sweep: cloud.functionOf('made_up_sweep') }
}

/** A resource that the fixture's one function makes. */
const made = (properties: object = {}, others: object = {}) => ({
  Type: 'Custom::Made',
  Properties: { ServiceToken: { 'Fn::GetAtt': ['Sweep1A2B', 'Arn'] }, ...properties },
  ...others,
})
const answering = (answer: string) => `export const handler = async event => {
  process.stdout.write(JSON.stringify(event) + '\\n')
  if (event.ResponseURL) await fetch(event.ResponseURL, { method: 'PUT', body: JSON.stringify(${answer}) })
}`

describe('a resource that a function makes', () => {
  test('is asked for with its properties, after what it depends on, and waited for', async () => {
    const { cloud, stack, sweep, lines } = await cloudOf(answering("{ Status: 'SUCCESS' }"), {
      A: made({ Functions: { one: { Ref: 'Sweep1A2B' } } }, { DependsOn: ['Trigger'] }),
    })
    expect(stack.steps.map(({ resource }) => resource?.id)).toEqual([undefined, 'A'])
    await cloud.deploy()
    await expect.poll(() => lines.length, { timeout: 10_000 }).toBe(2)
    expect(lines.map(line => JSON.parse(line))).toEqual([
      {},
      {
        RequestType: 'Create',
        ResponseURL: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/A$/),
        StackId: expect.stringMatching(/^arn:aws:cloudformation:eu-central-1:000000000000:stack\/Local\//),
        RequestId: expect.any(String),
        ResourceType: 'Custom::Made',
        LogicalResourceId: 'A',
        ResourceProperties: { ServiceToken: sweep.arn, Functions: { one: sweep.name } },
      },
    ])
  })

  test.each([
    ['says so', answering("{ Status: 'FAILED', Reason: 'no database' }"), 'A: no database'],
    ['gives no answer', 'export const handler = async () => undefined', 'A: it ended without an answer'],
    [
      'throws',
      'export const handler = async event => { if (event.ResponseURL) throw new Error("oh") }',
      'oh',
    ],
  ])('fails the deployment when the function %s', async (_, bundle, message) => {
    const { cloud } = await cloudOf(bundle, { A: made() })
    await expect(cloud.deploy()).rejects.toThrow(message)
  })

  test('is refused by name where its function is not in the template, and so is a circle', async () => {
    await expect(
      cloudOf('', { A: made({ ServiceToken: 'arn:aws:lambda:x:0:function:other' }) }),
    ).rejects.toThrow('A: its handler arn:aws:lambda:x:0:function:other is not in the template')
    const circle = { A: made({}, { DependsOn: 'B' }), B: made({}, { DependsOn: 'A' }) }
    await expect(cloudOf('', circle)).rejects.toThrow('A, B: these wait for one another')
  })
})

describe('a function that invokes another', () => {
  const invoking = `export const handler = async ({ path, type, event }) => {
    if (path === undefined && event === 'fail') throw new TypeError('no such thing')
    if (path === undefined) return { seen: event }
    const answer = await fetch(process.env.AWS_ENDPOINT_URL_LAMBDA + path, {
      method: 'POST',
      headers: { 'x-amz-invocation-type': type ?? 'RequestResponse' },
      body: JSON.stringify({ event }),
    })
    const failed = answer.headers.get('x-amz-function-error') ?? undefined
    return { status: answer.status, failed, body: await answer.text() }
  }`
  const invoke = async (asked: { name?: string; type?: string; event?: string; path?: string }) => {
    const { cloud, sweep } = await cloudOf(invoking)
    const path = `/2015-03-31/functions/${asked.name ?? sweep.name}/invocations`
    const answer = await cloud.invoke(sweep, { path, ...asked })
    const { body, ...rest } = answer as { status: number; body: string }
    return { ...rest, body: body === '' ? undefined : JSON.parse(body) }
  }

  test('is answered with its result', async () => {
    expect(await invoke({ event: 'hello' })).toEqual({ status: 200, body: { seen: 'hello' } })
  })

  test('is answered with its error as Lambda tells one', async () => {
    const body = { errorType: 'TypeError', errorMessage: 'no such thing' }
    expect(await invoke({ event: 'fail' })).toEqual({ status: 200, failed: 'Unhandled', body })
  })

  test('is not kept waiting where it does not want to wait', async () => {
    expect(await invoke({ event: 'fail', type: 'Event' })).toEqual({ status: 202, body: undefined })
  })

  test('is refused what is not there', async () => {
    expect(await invoke({ name: 'nobody' })).toMatchObject({ status: 404 })
    expect(await invoke({ path: '/2015-03-31/layers' })).toMatchObject({ status: 404 })
  })
})
