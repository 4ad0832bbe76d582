import type { EnqueueManyOptions, EnqueueOptions } from '../../../shared/client/enqueue-options.ts'
import type { Duration } from '../../../shared/core/durations.ts'
import { InvalidInputError, isTaskQError } from '../../../shared/core/errors.ts'
import { createClient, type TaskQClient } from '../../entry/client.ts'
import type { Answer } from '../answer.ts'
import { nameOfPayload, parseJson, payloadFlag, readPayload, readStdin } from '../payload-argument.ts'
import type { Call, Verb } from '../verb.ts'

export const enqueueVerb: Verb = {
  name: 'enqueue',
  summary: 'stores a job, or with --many one job for each line of stdin, all or none',
  words: ['ACTOR'],
  flags: {
    payload: payloadFlag,
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
    line.trim() === '' ? [] : [parseJson(line, `line ${index + 1}`)],
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
