import { type LocalEndpoint, type LocalResponse, listenHere } from './local-endpoint.ts'

/** One output of a stack, as CloudFormation tells it. */
export interface StackOutput {
  readonly key: string
  readonly value: string
  readonly description: string
}

const namespace = 'http://cloudformation.amazonaws.com/doc/2010-05-15/'
const requestId = '00000000-0000-4000-8000-000000000001'

/**
 * A local stand-in for CloudFormation, so that a command finds the functions of a local stack as it finds
 * those of a deployed one; its address is what `AWS_ENDPOINT_URL_CLOUDFORMATION` is set to. It answers
 * DescribeStacks for these stacks, by their names, in the service's Query protocol and nothing else of it.
 */
export function serveStacks(
  stacks: Readonly<Record<string, readonly StackOutput[]>>,
): Promise<LocalEndpoint> {
  return listenHere(({ body }) => {
    const asked = new URLSearchParams(body)
    if (asked.get('Action') !== 'DescribeStacks')
      return refusal('InvalidAction', 'only DescribeStacks is served here')
    const name = asked.get('StackName') ?? ''
    const outputs = stacks[name]
    if (outputs === undefined) return refusal('ValidationError', `Stack with id ${name} does not exist`)
    const stack = [
      element('StackName', text(name)),
      element('CreationTime', '2026-01-01T00:00:00Z'),
      element('StackStatus', 'CREATE_COMPLETE'),
      element('Outputs', outputs.map(outputElement).join('')),
    ]
    const result = element('DescribeStacksResult', element('Stacks', element('member', stack.join(''))))
    const told = `${result}${element('ResponseMetadata', element('RequestId', requestId))}`
    return answer(200, 'DescribeStacksResponse', told)
  })
}

function outputElement({ key, value, description }: StackOutput): string {
  const parts = { OutputKey: key, OutputValue: value, Description: description }
  return element(
    'member',
    Object.entries(parts)
      .map(([name, part]) => element(name, text(part)))
      .join(''),
  )
}

function refusal(code: string, message: string): LocalResponse {
  const error = element('Type', 'Sender') + element('Code', code) + element('Message', text(message))
  return answer(400, 'ErrorResponse', element('Error', error) + element('RequestId', requestId))
}

function answer(status: number, root: string, content: string): LocalResponse {
  const body = `<${root} xmlns="${namespace}">${content}</${root}>`
  return { status, headers: { 'content-type': 'text/xml' }, body }
}

const element = (name: string, content: string) => `<${name}>${content}</${name}>`

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
const text = (value: string) => value.replaceAll(/[&<>]/g, character => escapes[character] ?? '')
