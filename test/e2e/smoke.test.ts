import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type LocalRequest, type LocalResponse, listenHere } from '../../functions/dev/local-endpoint.ts'
import { LocalSandbox } from '../../functions/dev/local-sandbox.ts'
import { buildBundles } from '../../infra/bundles.ts'

/** A service of the cloud's, as this test wants it to answer. */
type Service = (request: LocalRequest) => LocalResponse | Promise<LocalResponse>

interface Answer {
  readonly Status: string
  readonly Reason: string
  readonly PhysicalResourceId: string
}

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})
beforeAll(() => buildBundles())

const folder = fileURLToPath(new URL('../../bundles/smoke', import.meta.url))

async function serve(service: Service): Promise<string> {
  const endpoint = await listenHere(service)
  cleanups.push(() => endpoint.close())
  return endpoint.url
}

/** Sends a request to the bundle, with this Lambda behind it, and returns what it answered. */
async function request(
  lambda: Service,
  asked: object = {},
  { timeoutMs = 60_000, refusals = 0 } = {},
): Promise<{ answer: Answer; headers: LocalRequest['headers'] }> {
  const answers: { answer: Answer; headers: LocalRequest['headers'] }[] = []
  let refused = 0
  const ResponseURL = await serve(({ body, headers }) => {
    if (refused++ < refusals) return { status: 503 }
    answers.push({ answer: JSON.parse(body), headers })
    return { status: 200 }
  })
  const environment = {
    AWS_ENDPOINT_URL_LAMBDA: await serve(lambda),
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    TASKQ_LOG_LEVEL: 'error',
  }
  const name = 'smoke'
  const definition = {
    id: name,
    name,
    arn: name,
    folder,
    handler: 'index.handler',
    environment,
    memoryMb: 256,
  }
  const sandbox = new LocalSandbox({ ...definition, timeoutMs }, environment, () => undefined)
  cleanups.push(() => sandbox.close(0))
  await sandbox.invoke({
    RequestType: 'Create',
    ResponseURL,
    StackId: 'stack',
    RequestId: 'request',
    LogicalResourceId: 'TaskQSmokeRun',
    ResourceProperties: { Functions: { promotion: 'Queues-promotion', expired_locks: 'Queues-expired' } },
    ...asked,
  })
  const [told, another] = answers
  if (told === undefined || another !== undefined) throw new Error(`${answers.length} answers`)
  return told
}

const well: Service = () => ({ status: 200, body: '{"outcome":"drained"}' })
const named = ({ path }: LocalRequest) => /functions\/([^/]+)\//.exec(path)?.[1] ?? ''
const failing = (errorMessage: string): LocalResponse => ({
  status: 200,
  headers: { 'x-amz-function-error': 'Unhandled' },
  body: JSON.stringify({ errorType: 'TaskQError', errorMessage }),
})

describe('a deployment', () => {
  test('is done when each function that it names ran with the smoke event', async () => {
    const asked: string[] = []
    const { answer, headers } = await request(call => {
      asked.push(`${call.method} ${named(call)} ${call.body}`)
      return well(call)
    })
    expect(asked.sort()).toEqual([
      'POST Queues-expired {"trigger":"smoke"}',
      'POST Queues-promotion {"trigger":"smoke"}',
    ])
    expect(answer).toEqual({
      Status: 'SUCCESS',
      Reason: 'done',
      PhysicalResourceId: 'TaskQSmokeRun',
      StackId: 'stack',
      RequestId: 'request',
      LogicalResourceId: 'TaskQSmokeRun',
    })
    // S3 refuses the document under a type for which its address is not signed.
    expect(headers['content-type']).toBe('')
  })

  test('fails by the name of the function that failed twice, with its reason and what to do', async () => {
    let promotions = 0
    const { answer } = await request(call => {
      if (named(call) === 'Queues-promotion') return promotions++ > 0 ? well(call) : failing('a failover')
      return failing('no connection to db.example.com:5432/app')
    })
    expect(answer).toMatchObject({
      Status: 'FAILED',
      Reason:
        '1 of 2 functions cannot work: expired_locks: no connection to db.example.com:5432/app; ' +
        'their logs say more; mend the cause and deploy again',
    })
  })

  test('waits for a permission that is not known everywhere yet', async () => {
    let calls = 0
    const headers = { 'x-amzn-errortype': 'AccessDeniedException' }
    const { answer } = await request(call =>
      calls++ < 1 ? { status: 403, headers, body: '{}' } : well(call),
    )
    expect(answer.Status).toBe('SUCCESS')
  })

  test('fails in time by the name of a function that gives no answer', async () => {
    const never = new Promise<LocalResponse>(() => undefined)
    const { answer } = await request(
      call => (named(call) === 'Queues-promotion' ? never : well(call)),
      {},
      { timeoutMs: 16_000 },
    )
    expect(answer.Reason).toMatch(/^1 of 2 functions cannot work: promotion: no answer in time; /)
  })

  test('names every function however many fail, in what a deployment shows', async () => {
    const purposes = Array.from({ length: 13 }, (_, index) => `purpose_number_${index}`)
    const Functions = Object.fromEntries(purposes.map(purpose => [purpose, purpose]))
    const { answer } = await request(() => failing('x'.repeat(2000)), { ResourceProperties: { Functions } })
    for (const purpose of purposes) expect(answer.Reason).toContain(`${purpose}: x`)
    expect(answer.Reason).toMatch(/mend the cause and deploy again$/)
    expect(answer.Reason.length).toBeLessThanOrEqual(1000)
  })
})

describe('a request', () => {
  const unasked: Service = () => {
    throw new Error('nothing was to be asked')
  }

  test('to delete asks nothing, so that a stack which cannot work can go', async () => {
    const { answer } = await request(unasked, { RequestType: 'Delete', PhysicalResourceId: 'known' })
    expect(answer).toMatchObject({ Status: 'SUCCESS', PhysicalResourceId: 'known' })
  })

  test('to update asks again, and stays the same resource', async () => {
    const { answer } = await request(well, { RequestType: 'Update', PhysicalResourceId: 'known' })
    expect(answer).toMatchObject({ Status: 'SUCCESS', PhysicalResourceId: 'known' })
  })

  test('is answered although the first two tries are not taken', async () => {
    expect((await request(well, {}, { refusals: 2 })).answer.Status).toBe('SUCCESS')
  })

  test.each([[{}], [{ Functions: {} }], [{ Functions: { promotion: 7 } }]])(
    'that names no functions, such as %j, is answered with what is wrong',
    async ResourceProperties => {
      const { answer } = await request(unasked, { ResourceProperties })
      expect(answer.Reason).toMatch(/^Functions: is no map of purposes to names of functions/)
    },
  )

  test('that is none is thrown by what is missing', async () => {
    await expect(request(unasked, { ResponseURL: undefined })).rejects.toMatchObject({
      failure: { code: 'EVENT_INVALID', errorMessage: expect.stringMatching(/^ResponseURL: /) },
    })
  })
})
