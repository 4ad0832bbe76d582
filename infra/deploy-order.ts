import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Trigger } from 'aws-cdk-lib/triggers'
import type { Construct } from 'constructs'
import { migrating } from './functions.ts'

/**
 * Migrates before anything else changes: the deployment invokes migrate, waits for it, and fails with its
 * message. It does so again whenever migrate or its environment changed; the environment holds the
 * deployment's id, so any change of code or settings counts. CloudFormation takes no SQL back: after a
 * roll-back the functions of the version before meet the newer schema.
 */
export function migrateBefore(scope: Construct, migrate: LambdaFunction, others: readonly Construct[]): void {
  new Trigger(scope, 'MigrateTrigger', {
    handler: migrate,
    timeout: migrating.timeout,
    executeBefore: [...others],
  })
}
