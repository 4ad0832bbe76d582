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

/** The resources of a type, by their logical id. */
export const resourcesOf = (scope: Scope, type: string) =>
  Object.entries(scope.resources).filter(([, resource]) => resource.Type === type)

/** Our functions by their ARN, with the assets by their keys. */
export function readFunctions(scope: Scope, assets: ReadonlyMap<string, string>): Map<string, LocalFunction> {
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
