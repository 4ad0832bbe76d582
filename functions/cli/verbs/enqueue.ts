import { readFile } from 'node:fs/promises'
import type { EnqueueManyOptions, EnqueueOptions } from '../../../shared/client/enqueue-options.ts'
import type { Duration } from '../../../shared/core/durations.ts'
import { InvalidInputError, isTaskQError } from '../../../shared/core/errors.ts'
import { createClient, type TaskQClient } from '../../entry/client.ts'
import type { Answer } from '../answer.ts'
import type { Call, Verb } from '../verb.ts'

export const enqueueVerb: Verb = {
  name: 'enqueue',
  summary: 'stores a job, or with --many one job for each line of stdin, all or none',
  words: ['ACTOR'],
  flags: {
    payload: { value: 'JSON|@FILE|-', doc: 'the payload, the file that holds it, or - for stdin' },
    many: { doc: 'read one JSON payload a line from stdin, at least one' },
    queue: { value: 'NAME', doc: "another queue than the actor's" },
    delay: { value: 'DURATION', doc: 'due after so long: 250ms, 90s, 5m, 7d' },
    key: { value: 'TEXT', doc: 'idempotency key: the first job with it is the only one' },
    priority: { value: 'N', doc: 'higher first; 0 where absent' },
  },
  run: async call => {
    try {
      return call.has('many') ? await enqueueMany(call) : await enqueueOne(call)
    } catch (error) {
      throw asFlag(error)
    }
  },
}

/** `{id, created}` */
async function enqueueOne(call: Call): Promise<Answer> {
  const payload = await readPayload(call.text('payload'))
  const key = call.text('key')
  const options: EnqueueOptions = {
    ...sharedOptions(call),
    ...(key !== undefined && { idempotencyKey: key }),
  }
  const enqueued = await withClient(call, client => client.enqueue(call.words[0] ?? '', payload, options))
  const text = enqueued.created ? `enqueued ${enqueued.id}` : `${enqueued.id} had the key already`
  return { json: enqueued, text }
}

/** `{enqueued, ids}`, the ids in the order of the lines. */
async function enqueueMany(call: Call): Promise<Answer> {
  const wrong = ['payload', 'key'].find(flag => call.text(flag) !== undefined)
  if (wrong !== undefined) {
    throw new InvalidInputError(
      'USAGE',
      `--${wrong}`,
      'is about one job; --many reads the payloads from stdin',
    )
  }
  const lines = (await readStdin()).split('\n')
  const payloads = lines.flatMap((line, index) =>
    line.trim() === '' ? [] : [parse(line, `line ${index + 1}`)],
  )
  if (payloads.length === 0) {
    throw new InvalidInputError('USAGE', '--many', 'stdin holds no line: there is nothing to enqueue')
  }
  const options: EnqueueManyOptions = sharedOptions(call)
  const enqueued = await withClient(call, client =>
    client.enqueueMany(call.words[0] ?? '', payloads, options),
  )
  const ids = enqueued.map(each => each.id)
  return { json: { enqueued: ids.length, ids }, text: `enqueued ${ids.length}` }
}

async function withClient<T>(call: Call, work: (client: TaskQClient) => Promise<T>): Promise<T> {
  const client = await createClient({ settings: call.settings, connections: 1 })
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

function sharedOptions(call: Call) {
  const [queue, delay, priority] = ['queue', 'delay', 'priority'].map(flag => call.text(flag))
  if (priority !== undefined && !/^-?\d+$/.test(priority)) {
    throw new InvalidInputError('USAGE', '--priority', `"${priority}" is not a whole number`)
  }
  return {
    ...(queue !== undefined && { queue }),
    ...(delay !== undefined && { delay: delay as Duration }),
    ...(priority !== undefined && { priority: Number(priority) }),
  }
}

async function readPayload(given: string | undefined): Promise<unknown> {
  if (given === undefined) {
    throw new InvalidInputError('USAGE', '--payload', 'is missing: JSON, @FILE, or - for stdin')
  }
  if (given === '-') return parse(await readStdin(), '--payload')
  if (!given.startsWith('@')) return parse(given, '--payload')
  const file = given.slice(1)
  const text = await readFile(file, 'utf8').catch(cause => {
    throw new InvalidInputError('USAGE', '--payload', `${file} cannot be read`, { cause })
  })
  return parse(text, '--payload')
}

async function readStdin(): Promise<string> {
  process.stdin.setEncoding('utf8')
  return (await process.stdin.toArray()).join('')
}

function parse(text: string, field: string): unknown {
  let unsafe: string | undefined
  try {
    // JavaScript would store another number than the one that was written, and say nothing.
    const payload = JSON.parse(text.replace(/^\uFEFF/, ''), (_key, value, context?: { source?: string }) => {
      const isWhole = /^-?\d+$/.test(context?.source ?? '')
      if (typeof value !== 'number' || (Number.isFinite(value) && !isWhole)) return value
      if (!Number.isSafeInteger(value)) unsafe ??= context?.source ?? String(value)
      return value
    })
    if (unsafe === undefined) return payload
  } catch (cause) {
    // The parser's own message would quote the payload.
    throw new InvalidInputError('PAYLOAD_INVALID', field, 'is not JSON', { cause })
  }
  throw new InvalidInputError(
    'PAYLOAD_INVALID',
    field,
    'holds a number too large to keep: write it as a text',
  )
}

const flagOfOption: Readonly<Record<string, string>> = {
  actor: 'ACTOR',
  queue: '--queue',
  delay: '--delay',
  priority: '--priority',
  idempotencyKey: '--key',
}

/** Names a refused option as it was given here. */
function asFlag(error: unknown): unknown {
  if (!isTaskQError(error) || error.field === undefined || error.code === 'ACTOR_UNKNOWN') return error
  const flag = flagOfOption[error.field] ?? nameOfPayload(error.field)
  const reason = error.message.replace(`${error.field}: `, '')
  return flag === error.field ? error : new InvalidInputError(error.code, flag, reason, { cause: error })
}

/** `payload.a` is `--payload.a`; `payloads[2].a` is `payload 3.a`, the third that stdin held. */
function nameOfPayload(field: string): string {
  if (/^payload\b/.test(field)) return `--${field}`
  return field.replace(/^payloads\[(\d+)\]/, (_, index: string) => `payload ${Number(index) + 1}`)
}
