import { InvalidInputError, isTaskQError, TaskQError } from '../../shared/core/errors.ts'

/** What AWS' clients call a caller whom they cannot name, or whom AWS does not know. */
const unknownCaller =
  /^(CredentialsProvider|TokenProvider)Error$|ExpiredToken|InvalidClientTokenId|UnrecognizedClient|Signature/
const denied = /^AccessDenied|UnauthorizedOperation/
const unreachable =
  /ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|EHOSTUNREACH|ETIMEDOUT|socket hang up|TimeoutError/

/** A failure of a call to AWS as an error of ours with the next step; `what` says which call it was. */
export function cloudFailure(error: unknown, what: string): TaskQError {
  if (isTaskQError(error)) return error
  const { name = 'Error', message = String(error), code = '' } = error as Partial<NodeJS.ErrnoException>
  if (/region is missing/i.test(message))
    return new InvalidInputError('USAGE', '--region', 'is missing: give it, or set AWS_REGION', {
      cause: error,
    })
  const said = `${what}: ${name}: ${message}`
  const next = nextStep(name, `${name} ${code} ${message}`)
  return new TaskQError('CLOUD_REFUSED', `${said}: ${next}`, { cause: error })
}

function nextStep(name: string, said: string): string {
  if (unknownCaller.test(name)) return 'sign in to AWS, or name a profile with AWS_PROFILE'
  if (denied.test(name))
    return 'this login must be allowed cloudformation:DescribeStacks and lambda:InvokeFunction on the stack'
  if (name === 'ResourceNotFoundException') return 'the stack names it, but it is gone: deploy again'
  if (unreachable.test(said)) return 'AWS did not answer from here: check the network, and --region'
  return 'see what AWS says of it, and try again'
}
