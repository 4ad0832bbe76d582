import * as z from 'zod/mini'
import { InvalidInputError } from '../../shared/core/errors.ts'

/**
 * CloudFormation's protocol of a custom resource, as far as it is needed here. The deployment invokes the
 * function behind the resource and then waits, not for the function, but for a document at an address that
 * came with the request:
 *
 *     CloudFormation                         the function
 *       { RequestType, ResponseURL, … }  →
 *                                        ←   PUT ResponseURL { Status, Reason, … }
 *
 * So whatever happens, an answer must be given: without one the deployment hangs until its own timeout.
 */
const request = z.object({
  RequestType: z.enum(['Create', 'Update', 'Delete']),
  ResponseURL: z.url(),
  StackId: z.string(),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
  PhysicalResourceId: z.optional(z.string()),
  ResourceProperties: z.record(z.string(), z.unknown()),
})

export type ResourceRequest = z.infer<typeof request>

/** Reads a request; anything else is an error with code `EVENT_INVALID` whose `field` is what is wrong. */
export function readResourceRequest(event: unknown): ResourceRequest {
  const read = request.safeParse(event)
  if (read.success) return read.data
  const [issue] = read.error.issues
  const reason = 'is missing or wrong: only CloudFormation invokes this function'
  throw new InvalidInputError('EVENT_INVALID', String(issue?.path[0] ?? 'event'), reason)
}

const tries = 3

/** Answers a request: with the reason of a failure, or without one as done. */
export async function answerResourceRequest(asked: ResourceRequest, failure?: string): Promise<void> {
  const { StackId, RequestId, LogicalResourceId } = asked
  const body = JSON.stringify({
    Status: failure === undefined ? 'SUCCESS' : 'FAILED',
    Reason: failure ?? 'done',
    // Never another one: what has a new id is taken for a new resource, and the old one is deleted.
    PhysicalResourceId: asked.PhysicalResourceId ?? LogicalResourceId,
    StackId,
    RequestId,
    LogicalResourceId,
  })
  for (let left = tries - 1; ; left--) {
    try {
      // The address is signed for a document without a type.
      const response = await fetch(asked.ResponseURL, {
        method: 'PUT',
        headers: { 'content-type': '' },
        body,
      })
      if (response.ok) return
      throw new Error(`CloudFormation answered ${response.status}`)
    } catch (error) {
      if (left === 0) throw error
    }
  }
}
