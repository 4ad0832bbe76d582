import { expect } from 'vitest'
import { LocalCloud } from '../../functions/dev/local-cloud.ts'
import { LocalInvocationError } from '../../functions/dev/local-sandbox.ts'
import { readStack } from '../../functions/dev/local-stack.ts'
import type { Failure } from '../../functions/dev/sandbox-messages.ts'
import { type SynthesizedStack, secretArn } from './synthesis.ts'

export interface Deployment {
  /** What the functions printed since the last call, once it is so many lines: they follow the result. */
  printed(lines: number): Promise<string[]>
  /** Sends the event of its rule to a function, and answers with its result. */
  start(purpose: string): Promise<unknown>
  invoke(purpose: string, event: unknown): Promise<unknown>
  /** The failure of an invocation that must fail, as Lambda would tell it. */
  failureOf(invocation: Promise<unknown>): Promise<Failure>
  /** Invokes what a deployment invokes. */
  deploy(): Promise<void>
  /** Writes another secret; who has read the last one has not read this. */
  setSecret(text: string): void
  /** What the command needs of its environment to reach this cloud. */
  readonly environment: Readonly<Record<string, string>>
  stop(): Promise<void>
}

type Variables = Readonly<Record<string, string>>

/**
 * Runs the bundles that a template names, each in a thread of its own with the environment given there, and
 * with what is added to it: to all alike, or to each by its logical id. `others` are secrets by their ARN.
 */
export async function runDeployment(
  { folder }: SynthesizedStack,
  secret: string,
  added: Variables | ((id: string) => Variables) = {},
  others: Variables = {},
): Promise<Deployment> {
  const secrets: Record<string, string> = { ...others, [secretArn]: secret }
  const lines: string[] = []
  const stack = readStack(folder, { region: 'eu-central-1', account: '111122223333' })
  const functions = [...stack.functions].map(([arn, each]) => {
    const own = typeof added === 'function' ? added(each.id) : added
    return [arn, { ...each, environment: { ...each.environment, ...own } }] as const
  })
  const onLine = (_: string, line: string) => lines.push(line)
  const cloud = await LocalCloud.start({
    stack: { ...stack, functions: new Map(functions) },
    secrets,
    onLine,
  })
  const invoke = (purpose: string, event: unknown) => cloud.invoke(cloud.functionOf(purpose), event)
  return {
    printed: async wanted => {
      await expect.poll(() => lines.length, { timeout: 5000 }).toBeGreaterThanOrEqual(wanted)
      return lines.splice(0)
    },
    invoke,
    start: purpose => invoke(purpose, cloud.scheduledEvent(cloud.functionOf(purpose))),
    deploy: () => cloud.deploy(),
    environment: cloud.environment,
    setSecret: text => {
      secrets[secretArn] = text
    },
    stop: () => cloud.stop(),
    failureOf: async invocation => {
      const failed = await invocation.then(
        result => new Error(`it succeeded: ${JSON.stringify(result)}`),
        (error: unknown) => error,
      )
      if (failed instanceof LocalInvocationError) return failed.failure
      throw failed
    },
  }
}
