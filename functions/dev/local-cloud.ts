import { randomUUID } from 'node:crypto'
import { makeResource } from './custom-resource.ts'
import { serveInvocations } from './invoke-endpoint.ts'
import type { LocalEndpoint } from './local-endpoint.ts'
import type { LocalFunction } from './local-functions.ts'
import { LocalSandbox, type OnLine } from './local-sandbox.ts'
import type { LocalRule, LocalStack } from './local-stack.ts'
import { ruleSchedule } from './schedule-expression.ts'
import { serveSecrets } from './secrets-endpoint.ts'
import { serveStacks } from './stacks-endpoint.ts'

export interface CloudOptions {
  readonly stack: LocalStack
  /** Secrets by their ARN. */
  readonly secrets: Readonly<Record<string, string>>
  readonly onLine: OnLine
  /** Each invocation by a rule, when it ended. */
  readonly onInvoked?: OnInvoked
}

export type OnInvoked = (purpose: string, outcome: { result: unknown } | { error: Error }) => void

/** How long a stopping function may take to end its batch. */
const stopGraceMs = 3000

/** setTimeout takes no longer wait than this; a rule that is further off is asked again. */
const timerMsMax = 2 ** 31 - 1

/**
 * A synthesized stack, running: one worker thread an execution environment, rules by their own schedule,
 * secrets by a local endpoint. A function whose sandbox is busy gets another one, as in Lambda; an event by
 * a rule is tried once, as the template says.
 */
export class LocalCloud {
  readonly #options: CloudOptions
  /** By the variable that names each to a function. */
  #endpoints: Readonly<Record<string, LocalEndpoint>> = {}
  readonly #sandboxes = new Map<string, LocalSandbox[]>()
  readonly #timers = new Map<LocalRule, NodeJS.Timeout>()
  #stopped = false

  private constructor(options: CloudOptions) {
    this.#options = options
  }

  static async start(options: CloudOptions): Promise<LocalCloud> {
    const cloud = new LocalCloud(options)
    const { scope, outputs } = options.stack
    const { stackName } = scope
    cloud.#endpoints = {
      AWS_ENDPOINT_URL_SECRETS_MANAGER: await serveSecrets(options.secrets),
      AWS_ENDPOINT_URL_CLOUDFORMATION: await serveStacks({ [stackName]: outputs }),
      AWS_ENDPOINT_URL_LAMBDA: await serveInvocations((name, event) => {
        const definition = cloud.#named(name)
        return definition && cloud.invoke(definition, event)
      }),
    }
    return cloud
  }

  /** Invokes what a deployment invokes, in its order; the first failure ends it, as it would fail that. */
  async deploy(): Promise<void> {
    const { steps, scope, functions } = this.#options.stack
    for (const { functionArn, resource } of steps) {
      const definition = functions.get(functionArn)
      if (definition === undefined) throw new Error(`${functionArn} is no function`)
      const invoke = (event: unknown) => this.invoke(definition, event)
      await (resource === undefined ? invoke({}) : makeResource(resource, scope, invoke))
    }
  }

  /** What there is a function for. */
  get purposes(): string[] {
    return Object.keys(this.#options.stack.names)
  }

  /** The function for a purpose, as the stack's output names it. */
  functionOf(purpose: string): LocalFunction {
    const found = this.#named(this.#options.stack.names[purpose])
    if (found === undefined) throw new Error(`the template has no function for ${purpose}`)
    return found
  }

  #named(name: string | undefined): LocalFunction | undefined {
    return [...this.#options.stack.functions.values()].find(each => each.name === name)
  }

  #purposeOf(definition: LocalFunction): string {
    return (
      this.purposes.find(purpose => this.#options.stack.names[purpose] === definition.name) ?? definition.id
    )
  }

  /** Invokes one function and waits for what it returns. */
  async invoke(definition: LocalFunction, event: unknown): Promise<unknown> {
    if (this.#stopped) throw new Error('the local cloud has stopped')
    const sandbox = this.#sandboxFor(definition)
    return await sandbox.invoke(event)
  }

  /** The event that EventBridge would send now, by the function's own rule. */
  scheduledEvent(definition: LocalFunction): unknown {
    const rule = this.#options.stack.rules.find(each =>
      each.targets.some(target => target.functionArn === definition.arn),
    )
    if (rule === undefined) throw new Error(`no rule of the template has ${definition.name} as its target`)
    return this.#eventOf(rule)
  }

  /** Starts every rule; a rate counts from now and fires at once, as one does soon after its creation. */
  startRules(): void {
    const since = new Date()
    for (const rule of this.#options.stack.rules) this.#arm(rule, new Date(since.getTime() - 1), since)
  }

  /** Ends rules first, then functions, then the endpoints that they use. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers.values()) clearTimeout(timer)
    const sandboxes = [...this.#sandboxes.values()].flat()
    await Promise.all(sandboxes.map(sandbox => sandbox.close(stopGraceMs)))
    await Promise.all(Object.values(this.#endpoints).map(endpoint => endpoint.close()))
  }

  #arm(rule: LocalRule, after: Date, since: Date): void {
    const next = ruleSchedule(rule.expression).next(after, since)
    if (next === null) return
    const waitMs = Math.max(0, next.getTime() - Date.now())
    const wake = () => {
      if (waitMs <= timerMsMax) this.#fire(rule)
      this.#arm(rule, waitMs <= timerMsMax ? next : new Date(), since)
    }
    this.#timers.set(rule, setTimeout(wake, Math.min(waitMs, timerMsMax)))
  }

  #fire(rule: LocalRule): void {
    for (const { functionArn, input } of rule.targets) {
      const definition = this.#options.stack.functions.get(functionArn)
      if (definition === undefined) throw new Error(`${rule.name}: its target ${functionArn} is no function`)
      const event = input === undefined ? this.#eventOf(rule) : JSON.parse(input)
      this.invoke(definition, event).then(
        result => this.#options.onInvoked?.(this.#purposeOf(definition), { result }),
        (error: Error) => {
          if (!this.#stopped) this.#options.onInvoked?.(this.#purposeOf(definition), { error })
        },
      )
    }
  }

  #eventOf(rule: LocalRule) {
    const { account, region } = this.#options.stack.scope
    return {
      version: '0',
      id: randomUUID(),
      'detail-type': 'Scheduled Event',
      source: 'aws.events',
      account,
      time: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
      region,
      resources: [rule.arn],
      detail: {},
    }
  }

  #sandboxFor(definition: LocalFunction): LocalSandbox {
    const warm = (this.#sandboxes.get(definition.arn) ?? []).filter(sandbox => sandbox.usable)
    const idle = warm.find(sandbox => !sandbox.busy)
    const sandbox =
      idle ?? new LocalSandbox(definition, this.#environmentOf(definition), this.#options.onLine)
    this.#sandboxes.set(definition.arn, idle === undefined ? [...warm, sandbox] : warm)
    return sandbox
  }

  /** What reaches this cloud and no other, as AWS' clients read it from an environment. */
  get environment(): Record<string, string> {
    const { region } = this.#options.stack.scope
    const addresses = Object.entries(this.#endpoints).map(([name, { url }]) => [name, url])
    return {
      AWS_REGION: region,
      // No account answers to these: whatever would reach for one fails instead of finding the user's own.
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
      ...Object.fromEntries(addresses),
    }
  }

  #environmentOf(definition: LocalFunction): Record<string, string> {
    const { region } = this.#options.stack.scope
    return {
      ...this.environment,
      AWS_DEFAULT_REGION: region,
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      AWS_LAMBDA_FUNCTION_NAME: definition.name,
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(definition.memoryMb),
      AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
      AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${definition.name}`,
      AWS_LAMBDA_LOG_STREAM_NAME: 'local',
      LAMBDA_TASK_ROOT: definition.folder,
      TZ: ':UTC',
      ...definition.environment,
    }
  }
}
