import { InvalidInputError, TaskQError } from '../../shared/core/errors.ts'
import { functionNames } from '../../shared/core/function-names.ts'
import { cloudFailure } from './cloud-failure.ts'

/** Where a stack is. */
export interface StackAddress {
  readonly stack: string
  /** Absent: as AWS' clients find it. */
  readonly region: string | undefined
}

/** The functions of one queue in a deployed stack. */
export interface DeployedQueue {
  /** Absent where only the deployment knew it. */
  readonly schema: string | undefined
  /** Their physical names by what each is for. */
  readonly names: Readonly<Record<string, string>>
}

/** Finds the queue of a stack by the stack's outputs: the only one, or the one in a schema. */
export async function findQueue(
  { stack, region }: StackAddress,
  wanted: string | undefined,
): Promise<DeployedQueue> {
  const queues = (await outputsOf(stack, region)).flatMap(queueOf)
  if (queues.length === 0)
    throw new TaskQError(
      'STACK_UNKNOWN',
      `stack "${stack}" has no queue: name the stack that has TaskQ in it`,
    )
  const schemas = queues.map(({ schema = 'one that its settings name' }) => schema).join(', ')
  const matching = queues.filter(({ schema }) => wanted === undefined || (schema ?? wanted) === wanted)
  const [queue, another] = matching
  if (queue === undefined)
    throw new InvalidInputError('USAGE', '--schema', `"${wanted}" is none of stack "${stack}": ${schemas}`)
  if (another !== undefined)
    throw new InvalidInputError(
      'USAGE',
      '--schema',
      `stack "${stack}" has several queues, in ${schemas}: name one`,
    )
  return queue
}

interface Output {
  readonly OutputKey?: string | undefined
  readonly OutputValue?: string | undefined
  readonly Description?: string | undefined
}

function queueOf({ OutputKey = '', OutputValue = '', Description = '' }: Output): DeployedQueue[] {
  if (!functionNames.isKey(OutputKey)) return []
  try {
    const names = JSON.parse(OutputValue) as DeployedQueue['names']
    return [{ schema: functionNames.schemaIn(Description), names }]
  } catch {
    // An output of somebody else's that is named alike.
    return []
  }
}

async function outputsOf(stack: string, region: string | undefined): Promise<readonly Output[]> {
  // Of this verb alone, and larger than the command.
  const { CloudFormationClient, DescribeStacksCommand } = await import('@aws-sdk/client-cloudformation')
  const client = new CloudFormationClient({ ...(region !== undefined && { region }) })
  try {
    const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: stack }))
    return Stacks[0]?.Outputs ?? []
  } catch (error) {
    const { name, message } = error as Error
    if (name !== 'ValidationError' || !message.includes('does not exist'))
      throw cloudFailure(error, `stack "${stack}" cannot be read`)
    const next = 'check its name, --region and the account'
    throw new TaskQError('STACK_UNKNOWN', `there is no stack "${stack}": ${next}`, { cause: error })
  } finally {
    client.destroy()
  }
}
