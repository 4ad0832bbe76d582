import { Stack, Token } from 'aws-cdk-lib'
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager'
import type { Construct, IConstruct } from 'constructs'
import { InvalidInputError } from '../shared/core/errors.ts'

/** The paths of an app's queues, by their places: a database and a schema in it. */
const placesOf = new WeakMap<IConstruct, Map<string, string>>()

/**
 * Refuses a second queue of one app in the same place. The database would refuse it too, by the pin of the
 * first, but only when it is deployed. Two secrets may still hold the same URL, which no synthesis can see.
 */
export function refuseSharedSchema(scope: Construct, { secretArn }: ISecret, schema: string): void {
  const { root, path } = scope.node
  const places = placesOf.get(root) ?? new Map<string, string>()
  placesOf.set(root, places)
  // An ARN that only the deployment resolves, by the region for one, is another in another environment.
  const environment = Token.isUnresolved(secretArn) ? Stack.of(scope).environment : ''
  const place = JSON.stringify([environment, secretArn, schema])
  const other = places.get(place)
  if (other !== undefined) {
    const reason = `"${schema}" is the schema of ${other} already, by the same secret: give each its own`
    throw new InvalidInputError('OPTION_INVALID', 'schema', reason)
  }
  places.set(place, path)
}
