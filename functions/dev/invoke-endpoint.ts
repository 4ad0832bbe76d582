import { type LocalEndpoint, type LocalResponse, listenHere } from './local-endpoint.ts'
import { LocalInvocationError } from './local-sandbox.ts'

/** Invokes a function by its name; undefined where there is none of that name. */
export type InvokeByName = (name: string, event: unknown) => Promise<unknown> | undefined

const invocations = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/

/**
 * A local stand-in for Lambda's Invoke, so that a bundle invokes others by the code that it deploys; its
 * address is what `AWS_ENDPOINT_URL_LAMBDA` is set to. A function that fails is answered as Lambda answers:
 * with success, and its error in the payload. Whoever does not want to wait is not kept waiting.
 */
export function serveInvocations(invoke: InvokeByName): Promise<LocalEndpoint> {
  return listenHere(async ({ method, path, headers, body }) => {
    const [, name] = invocations.exec(path) ?? []
    if (method !== 'POST' || name === undefined) return refusal(404, 'UnknownOperationException', path)
    const invoked = invoke(decodeURIComponent(name), JSON.parse(body || '{}'))
    if (invoked === undefined) return refusal(404, 'ResourceNotFoundException', `Function not found: ${name}`)
    if (headers['x-amz-invocation-type'] === 'Event') {
      invoked.catch(() => undefined)
      return { status: 202 }
    }
    try {
      return { status: 200, body: JSON.stringify(await invoked) }
    } catch (error) {
      if (!(error instanceof LocalInvocationError)) throw error
      const { errorType, errorMessage } = error.failure
      const failed = { 'x-amz-function-error': 'Unhandled' }
      return { status: 200, headers: failed, body: JSON.stringify({ errorType, errorMessage }) }
    }
  })
}

function refusal(status: number, type: string, message: string): LocalResponse {
  const headers = { 'content-type': 'application/json', 'x-amzn-errortype': type }
  return { status, headers, body: JSON.stringify({ Type: 'User', Message: message }) }
}
