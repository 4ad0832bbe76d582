import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'

/** What a function that was waited for came to: its result, or its error as Lambda tells it. */
export type Invoked = { readonly result: unknown } | { readonly failure: string }

export interface LambdaInvoker {
  /** Invokes a function and waits for it. Throws where it could not be invoked or the signal came first. */
  invoke(name: string, event: object, signal: AbortSignal): Promise<Invoked>
  close(): void
}

/** Region, credentials and a local endpoint are the SDK's to find; a throttled call is tried again by it. */
export function lambdaInvoker(): LambdaInvoker {
  const client = new LambdaClient({ maxAttempts: 5 })
  return {
    invoke: async (name, event, abortSignal) => {
      const command = new InvokeCommand({ FunctionName: name, Payload: JSON.stringify(event) })
      const { FunctionError, Payload } = await client.send(command, { abortSignal })
      const answer: unknown = JSON.parse(Payload?.transformToString() || 'null')
      return FunctionError === undefined ? { result: answer } : { failure: told(answer) }
    },
    close: () => client.destroy(),
  }
}

/** `{"errorType", "errorMessage"}`, as every runtime of Lambda's reports an error. */
function told(error: unknown): string {
  const { errorMessage, errorType } = (error ?? {}) as { errorMessage?: string; errorType?: string }
  return errorMessage || errorType || 'it failed without a word'
}
