import { Annotations } from 'aws-cdk-lib'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'

/** By what it can do, because two copies of the CDK have two classes. */
export function isOwnFunction(given: unknown): given is LambdaFunction {
  return typeof given === 'object' && given !== null && 'addEnvironment' in given
}

/**
 * The function of this app that a grantee is, or that an alias or a version stands before: these have neither
 * a role nor an environment of their own.
 */
export function functionBehind(grantee: IGrantable): LambdaFunction | undefined {
  const candidates = [grantee, (grantee as { readonly lambda?: unknown }).lambda]
  return candidates.find(isOwnFunction)
}

/** An imported function gets its environment where it is made; unsaid, that would show only at run time. */
export function warnIfImported(grantee: IGrantable): void {
  if (!('functionArn' in grantee && Construct.isConstruct(grantee))) return
  Annotations.of(grantee).addWarningV2(
    'taskq:noEnvironment',
    'This function is not made by this app, so grantEnqueue cannot tell it where the queue is. Give it the ' +
      'variables of enqueueEnvironment() where it is made.',
  )
}
