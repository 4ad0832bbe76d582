import { Annotations, Stack, Token } from 'aws-cdk-lib'
import type { IGrantable } from 'aws-cdk-lib/aws-iam'
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { IConstruct } from 'constructs'
import { InvalidInputError } from '../shared/core/errors.ts'
import type { DatabaseRole } from '../shared/core/names.ts'
import { type Settings, writeSettings } from '../shared/core/read-settings.ts'
import { type DatabaseSecrets, readStatements } from './database-secrets.ts'

/** Which queue a function's environment names. */
const giver = new WeakMap<LambdaFunction, Access>()

/** What others are told of a queue. */
export interface Told {
  readonly said: Partial<Settings>
  readonly secrets: DatabaseSecrets
  /** The stack of the queue. */
  readonly stack: Stack
  /** Constructs that it refers to, beside the secrets. */
  readonly needed: readonly IConstruct[]
}

/**
 * How others get at a queue: an environment that says where it is, and the right to read one secret. Both
 * stand on the side of who uses the queue, as identity policies and in that function's own stack. So the
 * queue's stack never refers to its users, and no two stacks refer to each other.
 */
export class Access {
  readonly #said: Partial<Settings>
  readonly #secrets: DatabaseSecrets
  readonly #neededStacks: Set<Stack>

  constructor({ said, secrets, stack, needed }: Told) {
    this.#said = said
    this.#secrets = secrets
    const ofSecrets = Object.values(secrets).flatMap(secret => [secret, secret.encryptionKey])
    const all = [...ofSecrets, ...needed].filter(each => each !== undefined)
    this.#neededStacks = new Set(all.map(each => Stack.of(each)))
    this.#neededStacks.delete(stack)
  }

  /** The environment of who uses the queue in a role. */
  environment(role: DatabaseRole): Record<string, string> {
    return this.#environment(role, this.#said)
  }

  #environment(role: DatabaseRole, said: Partial<Settings>): Record<string, string> {
    return writeSettings({ ...said, databaseSecretArn: this.#secrets[role].secretArn })
  }

  /** Lets a principal read the secret of a role, and no other. */
  grant(role: DatabaseRole, grantee: IGrantable): void {
    for (const statement of readStatements(this.#secrets[role]))
      grantee.grantPrincipal.addToPrincipalPolicy(statement)
  }

  /** Gives a function, of whatever stack, the right and the environment. */
  give(role: DatabaseRole, receiver: LambdaFunction): void {
    if ((giver.get(receiver) ?? this) !== this) {
      const reason =
        'uses another queue already, and its environment can name but one: give the right to its role'
      throw new InvalidInputError('OPTION_INVALID', 'grantee', reason)
    }
    giver.set(receiver, this)
    this.grant(role, receiver)
    const environment = this.#environment(role, this.#pinsFor(receiver))
    for (const [name, value] of Object.entries(environment)) receiver.addEnvironment(name, value)
  }

  /**
   * The installation that is not said is the id of the queue's own stack. A stack that this one needs, since
   * its secret or network stands there, cannot be told it: the two would need each other. There the pin is
   * left out, and what is left to attest the database by is the environment.
   */
  #pinsFor(receiver: LambdaFunction): Partial<Settings> {
    const { installationId, ...rest } = this.#said
    if (!Token.isUnresolved(installationId) || !this.#neededStacks.has(Stack.of(receiver))) return this.#said
    Annotations.of(receiver).addWarningV2(
      'taskq:installationNotPinned',
      'This function stands in a stack that the queue needs, so it cannot know the id of the queue’s ' +
        'stack: it will not notice a cloned database. Give TaskQ an installationId, a UUID, to pin it here.',
    )
    return rest
  }
}
