import { readFileSync } from 'node:fs'
import {
  App,
  CloudFormationValidatePlugin,
  type IPolicyValidationPlugin,
  Stack,
  Validations,
} from 'aws-cdk-lib'
import type { CloudAssembly } from 'aws-cdk-lib/cx-api'
import { AwsSolutionsChecks } from 'cdk-nag'
import type { Node } from 'constructs'
import { InvalidInputError } from '../shared/core/errors.ts'
import { buildBundles } from './bundles.ts'
import { guardRules } from './guard-rules.ts'
import { TaskQ, type TaskQProps } from './taskq.ts'

export interface SynthesisOptions {
  /** Context beside that of cdk.json, and before it; the CLI's `-c` comes before both. */
  readonly context?: Readonly<Record<string, unknown>>
  /** Where the assembly is written; a folder of the system's where absent, unless the CLI names one. */
  readonly outdir?: string
}

/**
 * Synthesizes the repository's own stack, bundles first: what `cdk deploy` deploys and `taskq dev` runs. It
 * needs no network, account or region.
 */
export async function synthesize(options: SynthesisOptions = {}): Promise<CloudAssembly> {
  const app = newApp(options)
  // Asked before the bundles are built: what is missing is said at once.
  const props = propsOf(app.node)
  await buildBundles()
  const description = 'TaskQ: the scheduled functions of a Postgres job queue'
  new TaskQ(new Stack(app, 'TaskQ', { description }), 'TaskQ', props)
  return app.synth()
}

/** An app in which a finding of cdk-nag, of CDK's own validation or of our rules ends the synthesis. */
export function newApp({ context, outdir }: SynthesisOptions): App {
  const app = new App({
    context: { ...projectContext(), ...context },
    ...(outdir !== undefined && { outdir }),
    analyticsReporting: false,
  })
  const ours = { guardRules: [{ name: 'taskq', content: guardRules }] }
  Validations.of(app).addPlugins(
    new AwsSolutionsChecks(app),
    new CloudFormationValidatePlugin(ours) as IPolicyValidationPlugin,
  )
  return app
}

/** As the CLI passes it, so that a synthesis without the CLI comes to the same. */
function projectContext(): Record<string, unknown> {
  const text = readFileSync(new URL('../cdk.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { context: Record<string, unknown> }).context
}

/** The properties of the construct, from context of the same names; only the secret has no default. */
function propsOf(node: Node): TaskQProps {
  const read = (name: string) => node.tryGetContext(name) as string | undefined
  const databaseSecret = read('databaseSecretArn')
  if (databaseSecret === undefined) throw missingSecret()
  const names = ['schema', 'environment', 'installationId', 'settings', 'databaseSecrets']
  const given = names.map(name => [name, read(name)]).filter(([, value]) => value !== undefined)
  const entry = read('definitions')
  return {
    databaseSecret,
    ...Object.fromEntries(given),
    ...(entry !== undefined && { definitions: { entry } }),
  }
}

function missingSecret(): InvalidInputError {
  return new InvalidInputError(
    'OPTION_INVALID',
    'databaseSecretArn',
    'is missing. Create a secret in Secrets Manager that holds the connection string of your database, and ' +
      'give its complete ARN: as "databaseSecretArn" in the context of cdk.json, or with\n' +
      '  -c databaseSecretArn=arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME-XXXXXX',
  )
}
