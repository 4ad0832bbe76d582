import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type LocalEndpoint, type LocalResponse, listenHere } from '../../functions/dev/local-endpoint.ts'
import { type StackOutput, serveStacks } from '../../functions/dev/stacks-endpoint.ts'
import { functionNames } from '../../shared/core/function-names.ts'
import type { RunResult } from '../../shared/sweeper/result.ts'
import { type Ended, startTaskq, taskq } from './cli-process.ts'

const output = (schema: string | undefined, names: object): StackOutput => ({
  key: `Queue${schema}FunctionNames1A2B3C`,
  value: JSON.stringify(names),
  description: functionNames.describe(schema),
})
const others: StackOutput[] = [
  { key: 'Url', value: 'https://example.com/?a=1&b=<2>', description: '' },
  { key: 'MyFunctionNames', value: 'promotion', description: 'of somebody else' },
]
const stacks = {
  One: [...others, output('taskq', { promotion: 'one-promotion' })],
  Two: [output('taskq', { promotion: 'two-a' }), output('billing', { promotion: 'two-b' })],
  Unsaid: [output(undefined, { promotion: 'unsaid-promotion' })],
  Old: [output('taskq', { expired_locks: 'old-expired_locks' })],
  None: others,
}

const result: RunResult = {
  function: 'promotion',
  schema: 'taskq',
  trigger: 'manual',
  outcome: 'drained',
  pulses: 1,
  batches: 1,
  rows: 0,
  batchSize: 100,
  batchSizeConfigured: 100,
  degraded: false,
  remaining: 0,
  durationMs: 2,
  longestBatchMs: 1,
}

/** Which functions were called, and how Lambda answers each call; it has a result where nothing is said. */
let called: string[] = []
let answers: LocalResponse[] = []
let cloud: LocalEndpoint
let lambda: LocalEndpoint
const extra: LocalEndpoint[] = []

beforeEach(async () => {
  called = []
  answers = []
  cloud = await serveStacks(stacks)
  lambda = await listenHere(({ path }) => {
    called.push(path.split('/').at(-2) ?? '')
    return answers.shift() ?? { status: 200, body: JSON.stringify(result) }
  })
})
afterEach(() => Promise.all([cloud, lambda, ...extra.splice(0)].map(each => each.close())))

const error = (status: number, type: string, message: string): LocalResponse => ({
  status,
  headers: { 'content-type': 'application/json', 'x-amzn-errortype': type },
  body: JSON.stringify({ Type: 'User', Message: message }),
})

/** A command's whole environment, with some of it changed, or, by an empty text, left out. */
function environment(changed: Readonly<Record<string, string>> = {}): Record<string, string> {
  const here = {
    AWS_ENDPOINT_URL_CLOUDFORMATION: cloud.url,
    AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_EC2_METADATA_DISABLED: 'true',
  }
  return Object.fromEntries(Object.entries({ ...here, ...changed }).filter(([, value]) => value !== ''))
}

const drain = (args: readonly string[], changed: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  taskq(['drain', 'promotion', ...args, '--json'], { env: environment(changed) })

describe('the function is found', () => {
  test.each([
    ['of the one queue of a stack', ['--stack', 'One'], {}, 'one-promotion'],
    ['of the queue in a schema', ['--stack', 'Two', '--schema', 'billing'], {}, 'two-b'],
    ['of the queue in the environment’s schema', ['--stack', 'Two'], { TASKQ_SCHEMA_NAME: 'taskq' }, 'two-a'],
    ['of a queue whose schema only its deployment knew', ['--stack', 'Unsaid'], {}, 'unsaid-promotion'],
    ['in a region', ['--stack', 'One', '--region', 'us-east-1'], { AWS_REGION: '' }, 'one-promotion'],
  ])('%s', async (_, args, env, name) => {
    expect(await drain(args, env)).toMatchObject({ code: 0, json: { outcome: 'drained', calls: 1 } })
    expect(called).toEqual([name])
  })

  test('and a call that Lambda refused for its rate is sent again', async () => {
    answers = [error(429, 'TooManyRequestsException', 'Rate Exceeded.')]
    expect(await drain(['--stack', 'One'])).toMatchObject({ code: 0, json: { calls: 1 } })
    expect(called).toHaveLength(2)
  })
})

describe('what is refused names the next step, shows no stack, and calls nothing', () => {
  test.each([
    [[], {}, 2, 'USAGE: --stack: is missing'],
    [['--stack', 'One', '--batch-size', '0'], {}, 2, 'USAGE: --batch-size'],
    [['--stack', 'One', '--max-seconds', '0'], {}, 2, 'USAGE: --max-seconds'],
    [['--stack', 'One', '--database-url', 'postgres://x/y'], {}, 2, 'USAGE: --database-url: is not for'],
    [['--stack', 'Gone'], {}, 1, 'STACK_UNKNOWN: there is no stack "Gone": check its name, --region'],
    [['--stack', 'None'], {}, 1, 'STACK_UNKNOWN: stack "None" has no queue'],
    [
      ['--stack', 'Two'],
      {},
      2,
      'USAGE: --schema: stack "Two" has several queues, in taskq, billing: name one',
    ],
    [
      ['--stack', 'Two', '--schema', 'x'],
      {},
      2,
      'USAGE: --schema: "x" is none of stack "Two": taskq, billing',
    ],
    [
      ['--stack', 'Old'],
      {},
      2,
      'stack "Old" has no promotion yet; it has expired_locks: deploy this version',
    ],
    [['--stack', 'One'], { AWS_REGION: '' }, 2, 'USAGE: --region: is missing: give it, or set AWS_REGION'],
    [
      ['--stack', 'One'],
      { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', HOME: '/nonexistent' },
      1,
      'sign in to AWS',
    ],
    [['--stack', 'One'], { AWS_ENDPOINT_URL_CLOUDFORMATION: 'http://127.0.0.1:1' }, 1, 'check the network'],
  ])('taskq drain promotion %j %j', async (args, env, code, said) => {
    const ended = await drain(args, env)
    expect(ended.stderr).toContain(said)
    expect(ended).toMatchObject({ code, json: { error: { message: expect.any(String) } } })
    expect(ended.stderr.trim().split('\n')).toHaveLength(1)
    expect(called).toEqual([])
  })

  test('a login that may not read the stack', async () => {
    const body =
      '<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>'
    const denying = await listenHere(() => ({ status: 403, headers: { 'content-type': 'text/xml' }, body }))
    extra.push(denying)
    const ended = await drain(['--stack', 'One'], { AWS_ENDPOINT_URL_CLOUDFORMATION: denying.url })
    expect(ended).toMatchObject({ code: 1, json: { error: { code: 'CLOUD_REFUSED' } } })
    expect(ended.stderr).toContain('must be allowed cloudformation:DescribeStacks and lambda:InvokeFunction')
  })
})

test('a signal before the first call: none is made', async () => {
  const asked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const slow = await listenHere(async ({ body }) => {
    asked.resolve()
    await released.promise
    const told = await fetch(cloud.url, { method: 'POST', body })
    return { status: told.status, headers: { 'content-type': 'text/xml' }, body: await told.text() }
  })
  extra.push(slow)
  const args = ['drain', 'promotion', '--stack', 'One', '--json']
  const { child, printed, ended } = startTaskq(args, {
    env: environment({ AWS_ENDPOINT_URL_CLOUDFORMATION: slow.url }),
  })
  await asked.promise
  child.kill('SIGINT')
  await expect.poll(() => printed.stderr, { timeout: 10_000 }).toContain('ending after')
  released.resolve()
  const { code, json } = await ended
  expect({ code, json }).toEqual({
    code: 0,
    json: { function: 'promotion', outcome: 'stopped', batches: 0, rows: 0, calls: 0 },
  })
  expect(called).toEqual([])
})

describe('a call that fails is sent once, and told as what it is', () => {
  const failing = (errorType: string, errorMessage: string): LocalResponse => ({
    status: 200,
    headers: { 'x-amz-function-error': 'Unhandled' },
    body: JSON.stringify({ errorType, errorMessage }),
  })

  test.each([
    ['no such function', error(404, 'ResourceNotFoundException', 'Function not found'), 1, 'deploy again'],
    ['access denied', error(403, 'AccessDeniedException', 'not authorized'), 1, 'lambda:InvokeFunction'],
    ['a fault of Lambda’s', error(500, 'ServiceException', 'internal'), 1, 'ServiceException: internal'],
    ['no database', failing('DATABASE_UNREACHABLE', 'no connection'), 3, 'DATABASE_UNREACHABLE'],
    ['an event of another version', failing('EVENT_INVALID', 'resetBreaker: is no'), 2, 'EVENT_INVALID'],
    [
      'a timeout',
      failing('Sandbox.Timedout', 'Task timed out'),
      1,
      'FUNCTION_FAILED: one-promotion: Sandbox',
    ],
    ['another answer', { status: 200, body: '"done"' }, 1, 'FUNCTION_FAILED: one-promotion answered with'],
  ])('%s', async (_, answer, code, said) => {
    answers = [answer]
    const ended = await drain(['--stack', 'One'])
    expect(ended.stderr).toContain(said)
    expect(ended.code).toBe(code)
    expect(called).toHaveLength(1)
  })
})
