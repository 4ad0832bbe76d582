import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { evaluateText, physicalName, type Resource, type Scope, TemplateRefusal } from './intrinsics.ts'

/** A function of the template, with everything that its sandbox is told. */
export interface LocalFunction {
  readonly id: string
  readonly name: string
  readonly arn: string
  /** The asset's folder: the bundle as it would be uploaded. */
  readonly folder: string
  /** `index.handler`. */
  readonly handler: string
  readonly environment: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly memoryMb: number
}

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
  /** Their physical names by what they are for: the stack's own output. */
  readonly names: Readonly<Record<string, string>>
  readonly rules: readonly LocalRule[]
  /** The functions that a deploy invokes, in its order. */
  readonly triggers: readonly LocalFunction[]
}

export interface StackPlace {
  readonly region: string
  readonly account: string
}

interface Template {
  readonly Resources: Readonly<Record<string, Resource>>
  readonly Outputs?: Readonly<Record<string, { Value: unknown }>>
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
  const names = readNames(template, scope)
  return { scope, functions, names, rules: readRules(scope), triggers: readTriggers(scope, functions) }
}

/** The output that says, as JSON, which function is for what. */
function readNames({ Outputs = {} }: Template, scope: Scope): Readonly<Record<string, string>> {
  const output = Object.entries(Outputs).find(([id]) => /FunctionNames/.test(id))
  if (output === undefined) throw new TemplateRefusal(`${scope.stackName}: it has no output FunctionNames`)
  return JSON.parse(evaluateText(output[1].Value, scope, output[0])) as Record<string, string>
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

const resourcesOf = (scope: Scope, type: string) =>
  Object.entries(scope.resources).filter(([, resource]) => resource.Type === type)

function readFunctions(scope: Scope, assets: ReadonlyMap<string, string>): Map<string, LocalFunction> {
  const functions = resourcesOf(scope, 'AWS::Lambda::Function').flatMap(([id, resource]) => {
    const read = readFunction(id, resource, scope, assets)
    return read === undefined ? [] : [[read.arn, read] as const]
  })
  return new Map(functions)
}

function readFunction(
  id: string,
  resource: Resource,
  scope: Scope,
  assets: ReadonlyMap<string, string>,
): LocalFunction | undefined {
  const properties = resource.Properties ?? {}
  const code = properties['Code'] as { S3Key?: unknown } | undefined
  // CDK's own machinery, such as the function behind a trigger, is no business of ours.
  if (code?.S3Key === undefined || id.includes('CustomResourceProvider')) return undefined
  const folder = assets.get(evaluateText(code.S3Key, scope, `${id}.Code.S3Key`))
  if (folder === undefined) throw new TemplateRefusal(`${id}: its asset is not in the asset manifest`)
  const variables = (properties['Environment'] as { Variables?: Record<string, unknown> } | undefined)
    ?.Variables
  const environment = Object.entries(variables ?? {}).map(([name, value]) => [
    name,
    evaluateText(value, scope, `${id}.Environment.${name}`),
  ])
  const name = physicalName(id, resource, scope)
  return {
    id,
    name,
    arn: evaluateText({ 'Fn::GetAtt': [id, 'Arn'] }, scope, id),
    folder,
    handler: evaluateText(properties['Handler'], scope, `${id}.Handler`),
    environment: Object.fromEntries(environment),
    timeoutMs: Number(evaluateText(properties['Timeout'] ?? 3, scope, `${id}.Timeout`)) * 1000,
    memoryMb: Number(evaluateText(properties['MemorySize'] ?? 128, scope, `${id}.MemorySize`)),
  }
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

/** The functions behind `triggers.Trigger`, each after those that its resource depends on. */
function readTriggers(scope: Scope, functions: ReadonlyMap<string, LocalFunction>): LocalFunction[] {
  const left = resourcesOf(scope, 'Custom::Trigger').map(([id]) => id)
  const order: string[] = []
  while (left.length > 0) {
    const next = left.findIndex(id => !left.some(other => other !== id && reaches(scope, id, other)))
    if (next < 0) throw new TemplateRefusal(`${left.join(', ')}: these triggers wait for one another`)
    order.push(...left.splice(next, 1))
  }
  return order.map(id => {
    const arn = evaluateText(scope.resources[id]?.Properties?.['HandlerArn'], scope, `${id}.HandlerArn`)
    const found = functions.get(withoutVersion(arn))
    if (found === undefined) throw new TemplateRefusal(`${id}: its handler ${arn} is not in the template`)
    return found
  })
}

/** `arn:aws:lambda:region:account:function:name`, whatever version or alias followed. */
const withoutVersion = (arn: string) => arn.split(':').slice(0, 7).join(':')

/** Whether a resource names another in DependsOn or in its properties, directly or by way of others. */
function reaches(scope: Scope, from: string, to: string, seen = new Set<string>()): boolean {
  if (seen.has(from)) return false
  seen.add(from)
  const named = [...JSON.stringify(scope.resources[from] ?? {}).matchAll(/"(\w+)"|\$\{(\w+)/g)]
  return named.some(([, quoted, substituted]) => {
    const id = quoted ?? substituted ?? ''
    return id === to || (id in scope.resources && id !== from && reaches(scope, id, to, seen))
  })
}
