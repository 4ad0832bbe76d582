import { App, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { TaskQ, type TaskQProps } from '../../infra/taskq.ts'
import { type Resource, secretArn } from './synthesis.ts'

export type Resources = Readonly<Record<string, Resource>>

/** An app whose user code is not bundled and whose findings are not looked for: both take seconds. */
export const fastApp = () =>
  new App({
    builtinCloudFormationValidation: false,
    analyticsReporting: false,
    context: { 'aws:cdk:bundling-stacks': [] },
  })

/** A queue in a stack of its own, or in the one that is given, with one secret for all. */
export function queueIn(
  stack = new Stack(fastApp(), 'Queues'),
  props: Partial<TaskQProps> = {},
  id = 'TaskQ',
): TaskQ {
  return new TaskQ(stack, id, { databaseSecret: secretArn, ...props })
}

/** The resources of a stack; a circle among them is an error. */
export const resourcesOf = (stack: Stack): Resources => Template.fromStack(stack).toJSON()['Resources']

/** The logical ids of a type whose id matches. */
export function idsOf(resources: Resources, type: string, pattern = /./): string[] {
  return Object.entries(resources).flatMap(([id, { Type }]) =>
    Type === type && pattern.test(id) ? [id] : [],
  )
}

/** All that a resource waits for: what it depends on in words or names in its properties, and so on. */
export function awaited(resources: Resources, id: string, found = new Set<string>()): Set<string> {
  const names = JSON.stringify([resources[id]?.Properties, resources[id]?.DependsOn]).matchAll(
    /"(?:Ref":"|Fn::GetAtt":\[")?(\w+)"|\$\{(\w+)/g,
  )
  for (const [, quoted, substituted] of names) {
    const name = quoted ?? substituted ?? ''
    if (!(name in resources) || found.has(name)) continue
    found.add(name)
    awaited(resources, name, found)
  }
  return found
}

/** What a role allows, by its own policies and by those that are attached to it. */
export function allowedTo(resources: Resources, roleId: string): unknown[] {
  type Policy = { readonly PolicyDocument: { readonly Statement: readonly Record<string, unknown>[] } }
  const own = (resources[roleId]?.Properties['Policies'] ?? []) as Policy[]
  const attached = Object.values(resources).filter(
    ({ Type, Properties }) =>
      Type === 'AWS::IAM::Policy' && JSON.stringify(Properties['Roles']).includes(roleId),
  )
  const policies = [...own, ...attached.map(({ Properties }) => Properties as unknown as Policy)]
  return policies.flatMap(({ PolicyDocument }) =>
    PolicyDocument.Statement.map(({ Effect, ...rest }) => {
      if (Effect !== 'Allow') throw new Error(`${roleId}: a statement that does not allow`)
      return rest
    }),
  )
}
