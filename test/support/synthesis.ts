import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { synthesize } from '../../infra/synthesis.ts'

/** The ARN of the secret that synthesized stacks name; nothing stands behind it. */
export const secretArn = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:example-AbCdEf'

export interface Resource {
  readonly Type: string
  readonly Properties: Readonly<Record<string, unknown>>
  readonly DependsOn?: readonly string[]
}

export interface SynthesizedStack {
  /** The folder of the cloud assembly. */
  readonly folder: string
  readonly template: {
    readonly Resources: Readonly<Record<string, Resource>>
    readonly Outputs: Readonly<Record<string, { readonly Value: unknown }>>
  }
  /** The template's text, for comparing byte for byte. */
  readonly text: string
}

const folders: string[] = []

/** Synthesizes the repository's stack into a folder that goes with the test file. */
export async function synthesized(
  context: Readonly<Record<string, unknown>> = {},
): Promise<SynthesizedStack> {
  const folder = mkdtempSync(join(tmpdir(), 'taskq-synthesis-'))
  folders.push(folder)
  await synthesize({ context: { databaseSecretArn: secretArn, ...context }, outdir: folder })
  const text = readFileSync(join(folder, 'TaskQ.template.json'), 'utf8')
  return { folder, text, template: JSON.parse(text) as SynthesizedStack['template'] }
}

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** The resources of a type, by their logical id. */
export function ofType({ template }: SynthesizedStack, type: string): [string, Resource][] {
  return Object.entries(template.Resources).filter(([, { Type }]) => Type === type)
}

/** The functions that are ours: the provider of the deployment's triggers is CDK's own. */
export function ownFunctions(stack: SynthesizedStack): [string, Resource][] {
  return ofType(stack, 'AWS::Lambda::Function').filter(([id]) => !id.startsWith('AWSCDK'))
}
