import { Token } from 'aws-cdk-lib'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { type ISecret, Secret } from 'aws-cdk-lib/aws-secretsmanager'
import type { Construct } from 'constructs'
import { InvalidInputError } from '../shared/core/errors.ts'
import { type DatabaseRole, databaseRoles } from '../shared/core/names.ts'

/** The secret of each, the owner's included. */
export type DatabaseSecrets = Readonly<Record<DatabaseRole | 'owner', ISecret>>

/** The secrets that were given, as constructs; a role without one of its own has the owner's. */
export function databaseSecretsOf(
  scope: Construct,
  ownerSecret: ISecret | string,
  own: { readonly [Role in DatabaseRole]?: ISecret | string } = {},
): DatabaseSecrets {
  const [unknown] = Object.keys(own).filter(role => !databaseRoles.includes(role as DatabaseRole))
  if (unknown !== undefined) {
    const reason = `is no role; there are ${databaseRoles.join(', ')}`
    throw new InvalidInputError('OPTION_INVALID', `databaseSecrets.${unknown}`, reason)
  }
  const owner = secretOf(scope, 'DatabaseSecret', 'databaseSecret', ownerSecret)
  const named = databaseRoles.map(role => {
    const given = own[role]
    if (given === undefined) return [role, owner] as const
    const id = `${role[0]?.toUpperCase()}${role.slice(1)}DatabaseSecret`
    return [role, secretOf(scope, id, `databaseSecrets.${role}`, given)] as const
  })
  return { owner, ...(Object.fromEntries(named) as Record<DatabaseRole, ISecret>) }
}

/** With the characters that Secrets Manager allows in a name: a wildcard is none of them. */
const completeArn = /^arn:[\w-]+:secretsmanager:[\w-]+:\d{12}:secret:[\w/+=.@-]+-[A-Za-z0-9]{6}$/

/** A role can name a secret only by its complete ARN: a partial one would need a wildcard. */
function secretOf(scope: Construct, id: string, property: string, given: ISecret | string): ISecret {
  const isComplete =
    typeof given === 'string'
      ? Token.isUnresolved(given) || completeArn.test(given)
      : given.secretFullArn !== undefined
  if (!isComplete) {
    const reason = 'is not the complete ARN of a secret, with the six characters that end it'
    throw new InvalidInputError('OPTION_INVALID', property, reason)
  }
  return typeof given === 'string' ? Secret.fromSecretCompleteArn(scope, id, given) : given
}

/** What reading a secret takes: the one secret, and its key where that is the customer's own. */
export function readStatements({ secretArn, encryptionKey, env }: ISecret): PolicyStatement[] {
  const read = new PolicyStatement({ actions: ['secretsmanager:GetSecretValue'], resources: [secretArn] })
  if (encryptionKey === undefined) return [read]
  const throughSecretsManager = { 'kms:ViaService': `secretsmanager.${env.region}.amazonaws.com` }
  const decrypt = new PolicyStatement({
    actions: ['kms:Decrypt'],
    resources: [encryptionKey.keyArn],
    conditions: { StringEquals: throughSecretsManager },
  })
  return [read, decrypt]
}
