/**
 * The part of CloudFormation that our template uses, evaluated: pseudo-parameters, Join, Sub, Select,
 * Split, Ref and GetAtt Arn. Anything else is refused by name and place, because a value that is guessed
 * here would run locally and differ in the cloud.
 */
export class TemplateRefusal extends Error {
  override readonly name = 'TemplateRefusal'
}

export interface Resource {
  readonly Type: string
  readonly Properties?: Readonly<Record<string, unknown>>
  readonly DependsOn?: string | readonly string[]
}

/** Where a template is evaluated. */
export interface Scope {
  readonly stackName: string
  readonly region: string
  readonly account: string
  readonly resources: Readonly<Record<string, Resource>>
}

/** What a resource's Ref and Arn are, by its type: `name` is its physical name, `at` its account's part. */
const known: Readonly<
  Record<string, { name?: string; ref?: 'arn'; arn?: (at: string, name: string) => string }>
> = {
  'AWS::Events::Rule': { name: 'Name', arn: (at, name) => `arn:aws:events:${at}:rule/${name}` },
  'AWS::IAM::Role': { name: 'RoleName', arn: (at, name) => `arn:aws:iam::${at.split(':')[1]}:role/${name}` },
  'AWS::Lambda::Function': {
    name: 'FunctionName',
    arn: (at, name) => `arn:aws:lambda:${at}:function:${name}`,
  },
  'AWS::Logs::LogGroup': {
    name: 'LogGroupName',
    arn: (at, name) => `arn:aws:logs:${at}:log-group:${name}:*`,
  },
  'AWS::SNS::Topic': { name: 'TopicName', ref: 'arn', arn: (at, name) => `arn:aws:sns:${at}:${name}` },
  'AWS::SecretsManager::Secret': {
    name: 'Name',
    ref: 'arn',
    arn: (at, name) => `arn:aws:secretsmanager:${at}:secret:${name}-local1`,
  },
}

/** Evaluates a property's value; `place` names it in a refusal. */
export function evaluate(value: unknown, scope: Scope, place: string): unknown {
  if (Array.isArray(value)) return value.map((each, index) => evaluate(each, scope, `${place}[${index}]`))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const [[key, argument] = ['', undefined]] = entries
  if (entries.length === 1 && (key === 'Ref' || key.startsWith('Fn::') || key === 'Condition')) {
    const intrinsic = intrinsics[key]
    if (intrinsic === undefined) throw new TemplateRefusal(`${place}: ${key} is not evaluated locally`)
    return intrinsic(argument, scope, place)
  }
  return Object.fromEntries(entries.map(([name, each]) => [name, evaluate(each, scope, `${place}.${name}`)]))
}

/** The same, where nothing but a text can be meant. */
export function evaluateText(value: unknown, scope: Scope, place: string): string {
  const found = evaluate(value, scope, place)
  if (typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean')
    return String(found)
  throw new TemplateRefusal(`${place}: a text was expected, not ${JSON.stringify(found)}`)
}

type Intrinsic = (argument: unknown, scope: Scope, place: string) => unknown

const intrinsics: Readonly<Record<string, Intrinsic>> = {
  Ref: (argument, scope, place) => reference(String(argument), scope, place),
  'Fn::GetAtt': (argument, scope, place) => {
    const [id, attribute] = Array.isArray(argument) ? argument.map(String) : splitOnce(String(argument))
    return attributeOf(String(id), String(attribute), scope, place)
  },
  'Fn::Join': (argument, scope, place) => {
    const [separator, parts] = pair(argument, place, 'Fn::Join')
    return texts(parts, scope, place).join(evaluateText(separator, scope, place))
  },
  'Fn::Split': (argument, scope, place) => {
    const [separator, source] = pair(argument, place, 'Fn::Split')
    return evaluateText(source, scope, place).split(evaluateText(separator, scope, place))
  },
  'Fn::Select': (argument, scope, place) => {
    const [index, list] = pair(argument, place, 'Fn::Select')
    const picked = texts(list, scope, place)[Number(evaluateText(index, scope, place))]
    if (picked === undefined) throw new TemplateRefusal(`${place}: Fn::Select finds nothing at ${index}`)
    return picked
  },
  'Fn::Sub': (argument, scope, place) => {
    const [template, variables] = Array.isArray(argument) ? argument : [argument, {}]
    return substitute(String(template), variables as Readonly<Record<string, unknown>>, scope, place)
  },
}

function substitute(
  template: string,
  variables: Readonly<Record<string, unknown>>,
  scope: Scope,
  place: string,
): string {
  return template.replaceAll(/\$\{([^}]*)\}/g, (_, name: string) => {
    if (name.startsWith('!')) return `\${${name.slice(1)}}`
    if (name in variables) return evaluateText(variables[name], scope, `${place}.${name}`)
    if (!name.includes('.')) return reference(name, scope, place)
    const [id, attribute] = splitOnce(name)
    return attributeOf(id, attribute, scope, place)
  })
}

function reference(name: string, scope: Scope, place: string): string {
  const pseudo = pseudoParameters(scope)[name]
  if (pseudo !== undefined) return pseudo
  const resource = scope.resources[name]
  if (resource === undefined) throw new TemplateRefusal(`${place}: Ref to ${name}, which is no resource`)
  if (resource.Type === 'AWS::Lambda::Version') return `${versionedFunction(resource, scope, place)}:1`
  const kind = known[resource.Type]
  if (kind === undefined) throw new TemplateRefusal(`${place}: Ref to ${name} of type ${resource.Type}`)
  return kind.ref === 'arn' ? attributeOf(name, 'Arn', scope, place) : physicalName(name, resource, scope)
}

function attributeOf(id: string, attribute: string, scope: Scope, place: string): string {
  const resource = scope.resources[id]
  const arn = resource && known[resource.Type]?.arn
  if (resource === undefined || arn === undefined || attribute !== 'Arn') {
    const type = resource?.Type ?? 'no resource'
    throw new TemplateRefusal(`${place}: Fn::GetAtt ${id}.${attribute} (${type}) is not evaluated locally`)
  }
  return arn(`${scope.region}:${scope.account}`, physicalName(id, resource, scope))
}

function versionedFunction(version: Resource, scope: Scope, place: string): string {
  const name = evaluateText(version.Properties?.['FunctionName'], scope, `${place}.FunctionName`)
  return `arn:aws:lambda:${scope.region}:${scope.account}:function:${name}`
}

/** The name that the template gives a resource, or one as CloudFormation would make it. */
export function physicalName(id: string, resource: Resource, scope: Scope): string {
  const property = known[resource.Type]?.name
  const given = property === undefined ? undefined : resource.Properties?.[property]
  return given === undefined ? `${scope.stackName}-${id}` : evaluateText(given, scope, `${id}.${property}`)
}

function pseudoParameters(scope: Scope): Readonly<Record<string, string>> {
  const { stackName, region, account } = scope
  return {
    'AWS::AccountId': account,
    'AWS::Partition': 'aws',
    'AWS::Region': region,
    'AWS::StackId': `arn:aws:cloudformation:${region}:${account}:stack/${stackName}/${localStackUuid}`,
    'AWS::StackName': stackName,
    'AWS::URLSuffix': 'amazonaws.com',
  }
}

/** A local stack is always the same one: an installation id derived from it must not change in between. */
export const localStackUuid = '00000000-0000-4000-8000-000000000001'

const splitOnce = (text: string): [string, string] => {
  const at = text.indexOf('.')
  return [text.slice(0, at), text.slice(at + 1)]
}

function pair(argument: unknown, place: string, name: string): [unknown, unknown] {
  if (Array.isArray(argument) && argument.length === 2) return [argument[0], argument[1]]
  throw new TemplateRefusal(`${place}: ${name} takes two arguments`)
}

function texts(value: unknown, scope: Scope, place: string): string[] {
  const found = evaluate(value, scope, place)
  if (Array.isArray(found)) return found.map(each => evaluateText(each, scope, place))
  throw new TemplateRefusal(`${place}: a list was expected, not ${JSON.stringify(found)}`)
}
