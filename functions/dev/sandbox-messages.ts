/** What a sandbox' thread is started with. */
export interface Sandbox {
  readonly folder: string
  readonly handler: string
  readonly name: string
  readonly arn: string
  readonly memoryMb: number
}

/** To the thread: one event, as JSON; or the signal that precedes its end. */
export type ToSandbox =
  | {
      readonly type: 'invoke'
      readonly requestId: string
      readonly event: string
      readonly remainingMs: number
    }
  | { readonly type: 'shutdown' }

/** How an invocation failed, in the words of Lambda's runtime. */
export interface Failure {
  readonly errorType: string
  readonly errorMessage: string
  readonly stack?: string
  readonly code?: string
}

/** From the thread: the result, as JSON, or the failure. */
export type FromSandbox =
  | { readonly requestId: string; readonly payload: string; readonly failure?: undefined }
  | { readonly requestId: string; readonly failure: Failure; readonly payload?: undefined }
