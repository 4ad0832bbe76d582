import { Duration, Stack } from 'aws-cdk-lib'
import type { CfnEventInvokeConfig, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { BundlingOptions } from 'aws-cdk-lib/aws-lambda-nodejs'
import type { IConstruct } from 'constructs'
import { formatDuration } from '../shared/core/durations.ts'
import { InvalidInputError } from '../shared/core/errors.ts'
import { checkName } from '../shared/core/names.ts'
import { type Settings, variableName } from '../shared/core/read-settings.ts'
import type { Access } from './access.ts'
import { isOwnFunction } from './grantee.ts'
import { eventAgeMax, StartRule } from './rules.ts'

/** What a worker works on. */
export interface AttachWorkerProps {
  /** The queues that it serves, unless its code says otherwise. */
  readonly queues: readonly string[]
}

/** A worker of which only the code is yours. */
export interface AddWorkerProps extends AttachWorkerProps {
  /** The module that exports `handler`, as `createWorkerHandler` makes it; bundled in your project. */
  readonly entry: string
  /** How long one invocation may work; five minutes where absent. */
  readonly timeout?: Duration
  /** 256 MB where absent. */
  readonly memorySize?: number
  /** Variables of your own. */
  readonly environment?: Readonly<Record<string, string>>
  /** How your code is bundled, where that is not as usual. */
  readonly bundling?: BundlingOptions
}

const startId = 'TaskQStart'

/** The workers of one queue. */
export class Workers {
  readonly #access: Access
  readonly #settings: Settings
  readonly #ready: IConstruct
  readonly #attached = new Set<LambdaFunction>()

  /** Nothing of a worker in the queue's own stack is made or changed before `ready`. */
  constructor(access: Access, settings: Settings, ready: IConstruct) {
    this.#access = access
    this.#settings = settings
    this.#ready = ready
  }

  has(given: LambdaFunction): boolean {
    return this.#attached.has(given)
  }

  attach(worker: LambdaFunction, { queues }: AttachWorkerProps): void {
    if (!isOwnFunction(worker)) {
      const reason = 'is no lambda.Function of this app, so its environment cannot be set'
      throw new InvalidInputError('OPTION_INVALID', 'worker', reason)
    }
    if (worker.node.tryFindChild(startId) !== undefined) {
      throw new InvalidInputError('OPTION_INVALID', 'worker', `${worker.node.path} is one already`)
    }
    const served = queuesText(queues)
    checkSoftStop(this.#settings, worker.timeout)
    this.#access.give('worker', worker)
    this.#attached.add(worker)
    worker.addEnvironment(variableName('queues'), served)
    tryOnce(worker)
    new StartRule(worker, startId, {
      description: `Starts a worker of ${queues.join(', ')}`.slice(0, 512),
      everyMinutes: 1,
      target: worker,
    })
    // The function alone, since all that starts it refers to it. Its role may be older than the queue: what
    // the queue itself needs may know it. In another stack the order is that of the stacks.
    if (Stack.of(worker) === Stack.of(this.#ready)) worker.node.defaultChild?.node.addDependency(this.#ready)
  }
}

/** The queues as the environment says them; a wrong one is refused by its place in the list. */
function queuesText(queues: readonly string[]): string {
  if (queues.length === 0) throw new InvalidInputError('OPTION_INVALID', 'queues', 'is empty')
  for (const [index, queue] of queues.entries()) {
    checkName(`queues[${index}]`, queue)
    if (queue.includes(',') || queue !== queue.trim()) {
      const reason = `"${queue}" cannot stand in a list: it has a comma, or a space at an end`
      throw new InvalidInputError('OPTION_INVALID', `queues[${index}]`, reason)
    }
  }
  return queues.join(',')
}

/** Lambda's own, where a function says nothing. */
const usualTimeout = Duration.seconds(3)

/** Refuses a worker that the platform would end before its own soft stop could. */
function checkSoftStop({ softStopTimeout }: Settings, timeout = usualTimeout): void {
  if (timeout.isUnresolved() || softStopTimeout < timeout.toMilliseconds()) return
  throw new InvalidInputError(
    'SETTING_INVALID',
    variableName('softStopTimeout'),
    `${formatDuration(softStopTimeout)} is not below the timeout of the worker’s function, ` +
      `${formatDuration(timeout.toMilliseconds())}`,
  )
}

/** The next minute is the retry. What else is configured there, such as a destination, stays as it is. */
function tryOnce(worker: LambdaFunction): void {
  const configured = worker.node.tryFindChild('EventInvokeConfig')?.node.defaultChild
  if (configured === undefined) {
    worker.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: eventAgeMax })
    return
  }
  const config = configured as CfnEventInvokeConfig
  config.maximumRetryAttempts = 0
  config.maximumEventAgeInSeconds = eventAgeMax.toSeconds()
}
