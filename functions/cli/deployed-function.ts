import { errorCodes, TaskQError } from '../../shared/core/errors.ts'
import type { DryRunResult, RunResult } from '../../shared/sweeper/result.ts'
import type { ManualEvent } from '../runtime/event.ts'
import { cloudFailure } from './cloud-failure.ts'

/** One deployed function, to be called by hand. */
export interface DeployedFunction {
  readonly invoke: (event: ManualEvent) => Promise<RunResult | DryRunResult>
  readonly close: () => void
}

/** A call that Lambda refused for its rate has started nothing: it is sent again, with a longer wait each. */
const refused = { triesMax: 5, pauseMs: 1000 }

const never = new AbortController().signal

/**
 * Opens a function by its physical name. Each call is sent once: the SDK would send one whose answer was lost
 * again, and the function would run twice, which is harmless, but only one of the two would be counted.
 */
export async function openFunction(
  { name, region }: { readonly name: string; readonly region: string | undefined },
  sleep: (ms: number) => Promise<void>,
): Promise<DeployedFunction> {
  // A chunk of its own, as everything of AWS' is.
  const { lambdaInvoker } = await import('../runtime/lambda-invoker.ts')
  const invoker = lambdaInvoker({ region, maxAttempts: 1 })
  const send = async (event: ManualEvent) => {
    for (let tries = 1; ; tries++) {
      try {
        return await invoker.invoke(name, event, never)
      } catch (error) {
        const isRefused = error instanceof Error && error.name === 'TooManyRequestsException'
        if (!isRefused || tries >= refused.triesMax)
          throw cloudFailure(error, `function "${name}" cannot be called`)
        await sleep(refused.pauseMs * tries)
      }
    }
  }
  return {
    invoke: async event => {
      const invoked = await send(event)
      if ('failure' in invoked) throw functionFailure(name, invoked)
      return resultOf(name, invoked.result)
    },
    close: () => invoker.close(),
  }
}

/** Our functions throw under their codes; what else one ends with, such as a timeout, is its own failure. */
function functionFailure(
  name: string,
  { failure, errorType }: { readonly failure: string; readonly errorType: string },
): TaskQError {
  const code = errorCodes.find(each => each === errorType)
  if (code !== undefined && code !== 'INTERNAL') return new TaskQError(code, `${name}: ${failure}`)
  const said = [name, errorType, failure].filter(part => part !== '').join(': ')
  return new TaskQError('FUNCTION_FAILED', `${said}: see its log`)
}

function resultOf(name: string, answer: unknown): RunResult | DryRunResult {
  if (typeof answer === 'object' && answer !== null && ('outcome' in answer || 'dryRun' in answer))
    return answer as RunResult | DryRunResult
  const next = 'is it of another version? Deploy it again'
  throw new TaskQError('FUNCTION_FAILED', `${name} answered with what is no result of a run: ${next}`)
}
