import { randomUUID } from 'node:crypto'
import type { CustomResource } from './deploy-steps.ts'
import { localStackUuid, type Scope } from './intrinsics.ts'
import { listenHere } from './local-endpoint.ts'

/** How a resource failed to be made, as CloudFormation would tell it. */
export class LocalResourceError extends Error {
  override readonly name = 'LocalResourceError'
}

/**
 * Does what CloudFormation does for a resource that a function stands behind: invokes it with a request, and
 * waits for the document that it puts at the request's address.
 */
export async function makeResource(
  { id, type, properties }: CustomResource,
  { stackName, region, account }: Scope,
  invoke: (event: unknown) => Promise<unknown>,
): Promise<void> {
  const answered = Promise.withResolvers<{ Status: string; Reason?: string }>()
  const endpoint = await listenHere(({ body }) => {
    answered.resolve(JSON.parse(body))
    return { status: 200 }
  })
  try {
    const invoked = invoke({
      RequestType: 'Create',
      ResponseURL: `${endpoint.url}/${id}`,
      StackId: `arn:aws:cloudformation:${region}:${account}:stack/${stackName}/${localStackUuid}`,
      RequestId: randomUUID(),
      ResourceType: type,
      LogicalResourceId: id,
      ResourceProperties: properties,
    })
    // CloudFormation would wait until its own timeout; here a function that ends has answered, or never will.
    const silence = invoked.then(() => ({ Status: 'FAILED', Reason: 'it ended without an answer' }))
    const { Status, Reason } = await Promise.race([answered.promise, silence])
    await invoked
    if (Status !== 'SUCCESS') throw new LocalResourceError(`${id}: ${Reason}`)
  } finally {
    await endpoint.close()
  }
}
