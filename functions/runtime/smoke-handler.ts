import { setTimeout as wait } from 'node:timers/promises'
import { InvalidInputError, TaskQError } from '../../shared/core/errors.ts'
import type { LambdaContext } from './budget.ts'
import type { LambdaInvoker } from './lambda-invoker.ts'
import { log } from './log.ts'
import { messageCharactersMax, type NextSteps, withNextStep } from './next-step.ts'
import { answerResourceRequest, type ResourceRequest, readResourceRequest } from './resource-request.ts'
import { environmentSettings } from './settings.ts'

/** At a time: an account's first quota is ten at once, and a sleeping database wakes more gently. */
const atATime = 4
/** A permission that the deployment has just given is not known everywhere in its first seconds. */
const denied = { tries: 6, pauseMs: 5000 }
/** A function that failed is asked once more: its own role is as young, and a database may fail over. */
const failed = { tries: 2, pauseMs: 2000 }
/** Left for the answer to the deployment. */
const reserveMs = 15_000

const nextSteps: NextSteps = { INTERNAL: 'their logs say more; mend the cause and deploy again' }

/**
 * The Lambda at the end of a deployment: it sends each scheduled function one smoke event, and what any of
 * them cannot do fails the deployment by that function's name.
 *
 * It stands behind a custom resource of its own, and not behind a trigger as migrate does. A trigger sends no
 * payload; and the names of the functions, which exist only after migrate has run, could not stand in the
 * environment either, because all triggers of a stack are sent by one function whose role names all of their
 * handlers: migrate would wait for smoke, smoke for the functions, and they for migrate. A custom resource is
 * sent the names when everything stands.
 */
export function smokeHandler() {
  return async (event: unknown, context: LambdaContext): Promise<void> => {
    const request = readResourceRequest(event)
    await answerResourceRequest(request, await failureOf(request, context))
  }
}

/** What a failed deployment says; undefined where all is well, or nothing is left that could fail. */
async function failureOf(request: ResourceRequest, context: LambdaContext): Promise<string | undefined> {
  if (request.RequestType === 'Delete') return undefined
  try {
    const settings = environmentSettings()
    const functions = functionsOf(request)
    const deadline = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - reserveMs))
    const failures = await failuresOf(functions, deadline)
    const told = { functions: functions.map(([purpose]) => purpose), requestId: context.awsRequestId }
    log(settings, failures.length === 0 ? 'info' : 'error', 'smoke done', { ...told, failures })
    if (failures.length > 0) throw new TaskQError('INTERNAL', summary(failures, functions.length))
    return undefined
  } catch (error) {
    return withNextStep(error, { name: 'smoke', nextSteps }).message
  }
}

type Named = readonly [purpose: string, text: string]

function functionsOf({ ResourceProperties: { Functions } }: ResourceRequest): Named[] {
  const given = typeof Functions === 'object' && Functions !== null ? Object.entries(Functions) : []
  if (given.length > 0 && given.every((entry): entry is [string, string] => typeof entry[1] === 'string')) {
    return given
  }
  throw new InvalidInputError('EVENT_INVALID', 'Functions', 'is no map of purposes to names of functions')
}

/** Asks all of them, a few at a time, and tells which failed and why, in the order of their names. */
async function failuresOf(functions: readonly Named[], deadline: AbortSignal): Promise<Named[]> {
  // A chunk of its own, as everything of AWS' is.
  const { lambdaInvoker } = await import('./lambda-invoker.ts')
  const invoker = lambdaInvoker()
  const failures: Named[] = []
  const left = [...functions]
  const ask = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [purpose, name] = next
      const failure = await smoke(invoker, name, deadline)
      if (failure !== undefined) failures.push([purpose, failure])
    }
  }
  try {
    await Promise.all(Array.from({ length: atATime }, ask))
  } finally {
    invoker.close()
  }
  return failures.sort(([one], [other]) => (one < other ? -1 : 1))
}

/** One function's failure; undefined where it ran. Another run may have its lock: that is no failure. */
async function smoke(
  invoker: LambdaInvoker,
  name: string,
  deadline: AbortSignal,
): Promise<string | undefined> {
  for (let tries = 1; ; tries++) {
    const { failure, again } = await askOnce(invoker, name, deadline)
    if (failure === undefined || tries >= again.tries || deadline.aborted) return failure
    await wait(again.pauseMs, undefined, { signal: deadline }).catch(() => undefined)
  }
}

async function askOnce(invoker: LambdaInvoker, name: string, deadline: AbortSignal) {
  try {
    const invoked = await invoker.invoke(name, { trigger: 'smoke' }, deadline)
    return { failure: 'failure' in invoked ? invoked.failure : undefined, again: failed }
  } catch (error) {
    if (deadline.aborted) return { failure: 'no answer in time', again: failed }
    const { name: kind, message } = error instanceof Error ? error : new Error(String(error))
    return { failure: `${kind}: ${message}`, again: kind === 'AccessDeniedException' ? denied : failed }
  }
}

/** Left of the message for how it begins and for the next step. */
const aroundCharacters = 150

/** Every function that failed, each with as much of its reason as leaves room for all the others. */
function summary(failures: readonly Named[], asked: number): string {
  const share = Math.floor((messageCharactersMax - aroundCharacters) / failures.length)
  const told = failures.map(([purpose, reason]) => {
    const text = `${purpose}: ${reason}`
    return text.length > share - 2 ? `${text.slice(0, share - 3)}…` : text
  })
  return `${failures.length} of ${asked} functions cannot work: ${told.join('; ')}`
}
