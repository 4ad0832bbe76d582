import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'

/** What a function that was waited for came to: its result, or its error as Lambda tells it. */
export type Invoked = { readonly result: unknown } | { readonly failure: string; readonly errorType: string }

export interface LambdaInvoker {
  /** Invokes a function and waits for it. Throws where it could not be invoked or the signal came first. */
  invoke(name: string, event: object, signal: AbortSignal): Promise<Invoked>
  close(): void
}

export interface InvokerOptions {
  readonly region?: string | undefined
  /** How often a call is sent at most; a throttled one is sent again, and so is one whose answer was lost. */
  readonly maxAttempts?: number
}

/** Longer than any function may run, so that it is Lambda that says how a call ended. */
const answerMs = 16 * 60_000
const connectMs = 10_000

/** Credentials and a local endpoint are the SDK's to find, and the region is where none is given. */
export function lambdaInvoker({ region, maxAttempts = 5 }: InvokerOptions = {}): LambdaInvoker {
  const client = new LambdaClient({
    maxAttempts,
    ...(region !== undefined && { region }),
    requestHandler: { connectionTimeout: connectMs, requestTimeout: answerMs, throwOnRequestTimeout: true },
  })
  return {
    invoke: async (name, event, abortSignal) => {
      const command = new InvokeCommand({ FunctionName: name, Payload: JSON.stringify(event) })
      const { FunctionError, Payload } = await client.send(command, { abortSignal })
      const answer: unknown = JSON.parse(Payload?.transformToString() || 'null')
      return FunctionError === undefined ? { result: answer } : told(answer)
    },
    close: () => client.destroy(),
  }
}

/** `{"errorType", "errorMessage"}`, as every runtime of Lambda's reports an error. */
function told(error: unknown): Invoked {
  const { errorMessage, errorType = '' } = (error ?? {}) as { errorMessage?: string; errorType?: string }
  return { failure: errorMessage || errorType || 'it failed without a word', errorType }
}
