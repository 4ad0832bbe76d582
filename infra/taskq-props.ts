import type { RemovalPolicy } from 'aws-cdk-lib'
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import type { ILayerVersion, Tracing } from 'aws-cdk-lib/aws-lambda'
import type { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager'
import { InvalidInputError } from '../shared/core/errors.ts'
import type { DatabaseRole } from '../shared/core/names.ts'
import type { SettingsProps } from './environment.ts'

export interface TaskQProps {
  /** The secret with the URL of the schema's owner, or its complete ARN: for migrations, and the rest. */
  readonly databaseSecret: ISecret | string
  /** Secrets of database users with fewer rights, by who uses them; `databaseSecret` for each absent one. */
  readonly databaseSecrets?: { readonly [Role in DatabaseRole]?: ISecret | string }
  /** The schema that holds everything; `taskq` where absent. */
  readonly schema?: string
  /** Pinned in the database by the first deployment; the stack's name where absent. */
  readonly environment?: string
  /** Settings by their names in camelCase; durations as text, such as `'90s'`. */
  readonly settings?: SettingsProps
  /**
   * The module that exports `actors`, stored at every deployment. It is bundled in your project, which needs
   * esbuild for that; keep handlers out of it.
   */
  readonly definitions?: { readonly entry: string }
  /** Adopts the installation that a database already has; else it is the UUID in the stack's own id. */
  readonly installationId?: string
  /** The network from which the database can be reached; none where absent. */
  readonly vpc?: IVpc
  /** Where in the network; its private subnets where absent. */
  readonly vpcSubnets?: SubnetSelection
  /** Of the functions in the network; one that lets everything out where absent. */
  readonly securityGroups?: readonly ISecurityGroup[]
  /** Whether X-Ray follows the functions; no where absent. */
  readonly tracing?: Tracing
  /** Layers of the functions, such as an observer's extension. */
  readonly layers?: readonly ILayerVersion[]
  /** How long the functions' logs are kept; a month where absent. */
  readonly logRetention?: RetentionDays
  /** The key of the log groups; CloudWatch Logs must be allowed to use it. */
  readonly logEncryptionKey?: IKey
  /** What becomes of the log groups when the stack goes; they are kept where absent. */
  readonly removalPolicy?: RemovalPolicy
}

/** Each property once; the type keeps the list complete. */
const known: Readonly<Record<keyof TaskQProps, true>> = {
  databaseSecret: true,
  databaseSecrets: true,
  schema: true,
  environment: true,
  settings: true,
  definitions: true,
  installationId: true,
  vpc: true,
  vpcSubnets: true,
  securityGroups: true,
  tracing: true,
  layers: true,
  logRetention: true,
  logEncryptionKey: true,
  removalPolicy: true,
}

/** Refuses what only JavaScript or a cast lets through: a misspelt property, and one that must be there. */
export function checkProps(props: Partial<TaskQProps> | undefined): void {
  const unknown = Object.keys(props ?? {}).find(name => !Object.hasOwn(known, name))
  if (unknown !== undefined) {
    const reason = `is no property of TaskQ; there are ${Object.keys(known).join(', ')}`
    throw new InvalidInputError('OPTION_INVALID', unknown, reason)
  }
  if ((props?.databaseSecret ?? undefined) === undefined) {
    const reason =
      'is missing: give the secret that holds the connection string of your database, or its complete ARN'
    throw new InvalidInputError('OPTION_INVALID', 'databaseSecret', reason)
  }
}
