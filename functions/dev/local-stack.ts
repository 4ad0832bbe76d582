import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { functionNames } from '../../shared/core/function-names.ts'
import { type DeployStep, readSteps } from './deploy-steps.ts'
import { evaluateText, physicalName, type Resource, type Scope, TemplateRefusal } from './intrinsics.ts'
import { type LocalFunction, readFunctions, resourcesOf } from './local-functions.ts'
import type { StackOutput } from './stacks-endpoint.ts'

export interface LocalRule {
  readonly name: string
  readonly arn: string
  readonly expression: string
  readonly targets: readonly { readonly functionArn: string; readonly input: string | undefined }[]
}

/** A synthesized stack, read for running here. */
export interface LocalStack {
  readonly scope: Scope
  /** By ARN, as rules and triggers name them. */
  readonly functions: ReadonlyMap<string, LocalFunction>
  /** Its outputs that name the functions of a queue. */
  readonly outputs: readonly StackOutput[]
  /** The physical names by what they are for, as the first of those outputs has them. */
  readonly names: Readonly<Record<string, string>>
  readonly rules: readonly LocalRule[]
  /** What a deployment invokes, in its order. */
  readonly steps: readonly DeployStep[]
}

export interface StackPlace {
  readonly region: string
  readonly account: string
}

interface Template {
  readonly Resources: Readonly<Record<string, Resource>>
  readonly Outputs?: Readonly<Record<string, { Value: unknown; Description?: string }>>
}

interface Manifest {
  readonly artifacts: Readonly<Record<string, { type: string; properties?: Record<string, string> }>>
}

/**
 * Reads the one stack of a folder that `cdk synth` wrote: its functions from their asset folders with the
 * environment that stands in the template, its rules, and the functions that a deploy invokes.
 */
export function readStack(folder: string, place: StackPlace): LocalStack {
  const manifest = readJson<Manifest>(join(folder, 'manifest.json'))
  const ofType = (type: string) => Object.entries(manifest.artifacts).filter(([, each]) => each.type === type)
  const [stack, another] = ofType('aws:cloudformation:stack')
  if (stack === undefined || another !== undefined) {
    throw new TemplateRefusal(`${folder}: exactly one stack was expected`)
  }
  const [stackName, { properties }] = stack
  const template = readJson<Template>(join(folder, properties?.['templateFile'] ?? ''))
  const scope: Scope = { stackName, ...place, resources: template.Resources }
  const assets = ofType('cdk:asset-manifest').flatMap(([, each]) =>
    assetFolders(folder, each.properties?.['file'] ?? ''),
  )
  const functions = readFunctions(scope, new Map(assets))
  const outputs = readOutputs(template, scope)
  const [first] = outputs
  if (first === undefined) throw new TemplateRefusal(`${scope.stackName}: it has no output FunctionNames`)
  const names = JSON.parse(first.value) as Record<string, string>
  return { scope, functions, outputs, names, rules: readRules(scope), steps: readSteps(scope, functions) }
}

/** The outputs that say, as JSON, which function is for what. */
function readOutputs({ Outputs = {} }: Template, scope: Scope): StackOutput[] {
  return Object.entries(Outputs)
    .filter(([key]) => functionNames.isKey(key))
    .map(([key, { Value, Description: description = '' }]) => {
      return { key, value: evaluateText(Value, scope, key), description }
    })
}

const readJson = <T>(file: string) => JSON.parse(readFileSync(file, 'utf8')) as T

interface AssetManifest {
  readonly files: Readonly<
    Record<string, { source: { path: string }; destinations: Record<string, { objectKey: string }> }>
  >
}

/** Every asset's folder by the key under which it would be uploaded. */
function assetFolders(folder: string, file: string): [string, string][] {
  return Object.values(readJson<AssetManifest>(join(folder, file)).files).flatMap(
    ({ source, destinations }) =>
      Object.values(destinations).map(({ objectKey }): [string, string] => [
        objectKey,
        resolve(folder, source.path),
      ]),
  )
}

function readRules(scope: Scope): LocalRule[] {
  const rules = resourcesOf(scope, 'AWS::Events::Rule').filter(
    ([, { Properties }]) => Properties?.['State'] !== 'DISABLED',
  )
  return rules.map(([id, resource]) => {
    const { ScheduleExpression: expression, Targets: targets } = resource.Properties ?? {}
    if (expression === undefined) throw new TemplateRefusal(`${id}: only rules with a schedule run locally`)
    return {
      name: physicalName(id, resource, scope),
      arn: evaluateText({ 'Fn::GetAtt': [id, 'Arn'] }, scope, id),
      expression: evaluateText(expression, scope, `${id}.ScheduleExpression`),
      targets: (targets as Record<string, unknown>[]).map(target => readTarget(target, scope, id)),
    }
  })
}

function readTarget(target: Readonly<Record<string, unknown>>, scope: Scope, id: string) {
  const odd = ['InputPath', 'InputTransformer'].find(name => name in target)
  if (odd !== undefined) throw new TemplateRefusal(`${id}: ${odd} is not evaluated locally`)
  const input =
    target['Input'] === undefined ? undefined : evaluateText(target['Input'], scope, `${id}.Input`)
  return { functionArn: evaluateText(target['Arn'], scope, `${id}.Targets.Arn`), input }
}
