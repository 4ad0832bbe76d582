import { evaluate, evaluateText, type Scope, TemplateRefusal } from './intrinsics.ts'
import type { LocalFunction } from './local-functions.ts'

/** A resource that is made by a function of the stack's own. */
export interface CustomResource {
  readonly id: string
  readonly type: string
  readonly properties: unknown
}

/** What a deployment invokes: with nothing where a trigger says so, or with the request of a resource. */
export interface DeployStep {
  readonly functionArn: string
  readonly resource?: CustomResource
}

/** The functions that a deployment invokes, each after what its resource depends on. */
export function readSteps(scope: Scope, functions: ReadonlyMap<string, LocalFunction>): DeployStep[] {
  const left = Object.keys(scope.resources).filter(id => typeOf(scope, id).startsWith('Custom::'))
  const order: string[] = []
  while (left.length > 0) {
    const next = left.findIndex(id => !left.some(other => other !== id && reaches(scope, id, other)))
    if (next < 0) throw new TemplateRefusal(`${left.join(', ')}: these wait for one another`)
    order.push(...left.splice(next, 1))
  }
  return order.map(id => readStep(id, scope, functions))
}

const typeOf = (scope: Scope, id: string) => scope.resources[id]?.Type ?? ''

function readStep(id: string, scope: Scope, functions: ReadonlyMap<string, LocalFunction>): DeployStep {
  const type = typeOf(scope, id)
  const { HandlerArn, ServiceToken } = scope.resources[id]?.Properties ?? {}
  const isTrigger = type === 'Custom::Trigger'
  const arn = evaluateText(isTrigger ? HandlerArn : ServiceToken, scope, id)
  const functionArn = withoutVersion(arn)
  if (!functions.has(functionArn))
    throw new TemplateRefusal(`${id}: its handler ${arn} is not in the template`)
  if (isTrigger) return { functionArn }
  return {
    functionArn,
    resource: { id, type, properties: evaluate(scope.resources[id]?.Properties, scope, id) },
  }
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
