import { listFunctions, resetBreaker, switchFunction } from '../../../shared/sweeper/operate.ts'
import { routines } from '../../../shared/sweeps/index.ts'
import type { Answer } from '../answer.ts'
import { operating } from '../operating.ts'
import { operatorOf, reasonFlag } from '../operator.ts'
import { routineNamed } from '../routine-argument.ts'
import type { Call, Verb } from '../verb.ts'

const changing = { words: ['FUNCTION'], flags: { reason: reasonFlag } }

/** The switch and the breaker of each scheduled function. */
export const functionsVerbs: readonly Verb[] = [
  {
    name: 'functions list',
    summary: 'says which functions are switched off, which breakers have latched, and what is set aside',
    words: [],
    flags: {},
    run: list,
  },
  {
    ...changing,
    name: 'functions disable',
    summary: 'switches a function off: each new run leaves at once, until it is switched on',
    run: call => switchTo(call, true),
  },
  {
    ...changing,
    name: 'functions enable',
    summary: 'switches a function on again',
    run: call => switchTo(call, false),
  },
  {
    ...changing,
    name: 'functions reset',
    summary: 'clears the breaker of a function, so that its batches have their whole size again',
    run: reset,
  },
]

type Stored = (typeof listFunctions)['_row'] & {}

/** What `functions list` says of one; a function without a row has never run here. */
export interface ListedFunction extends Omit<Stored, 'disabledAt' | 'latchedAt'> {
  readonly enabled: boolean
  readonly disabledAt: Date | null
  /** When its breaker latched; null: it has not. */
  readonly latchedAt: Date | null
}

const neverRun: Omit<Stored, 'function'> = {
  disabledAt: null,
  disabledBy: null,
  latchedAt: null,
  consecutiveAborts: 0,
  lastOutcome: null,
  lastError: null,
  setAside: 0,
}

/** `{schema, functions: [ListedFunction]}`: those of this version, and what else has a row. */
async function list(call: Call): Promise<Answer> {
  const stored = await operating(call, transaction => transaction.run(listFunctions, {}))
  const known = routines.map(({ purpose }) => ({ ...neverRun, function: purpose }))
  const all = new Map([...known, ...stored].map(each => [each.function, each]))
  const functions = [...all.values()].map(
    (each): ListedFunction => ({ ...each, enabled: each.disabledAt === null }),
  )
  return { json: { schema: call.settings.schemaName, functions }, text: functions.map(line) }
}

function line(listed: ListedFunction): string {
  const { enabled, disabledAt, disabledBy, latchedAt, setAside, lastOutcome } = listed
  const off = `off since ${disabledAt?.toISOString()}, by ${disabledBy ?? 'nobody known'}`
  return [
    `${listed.function}: ${enabled ? 'on' : off}`,
    ...(latchedAt === null ? [] : [`breaker latched ${latchedAt.toISOString()}`]),
    ...(setAside === 0 ? [] : [`${setAside} set aside`]),
    lastOutcome === null ? 'no run yet' : `last run ${lastOutcome}`,
  ].join('; ')
}

/** `{function, enabled, changed}`; `changed` is false where it was so already. */
async function switchTo(call: Call, isOff: boolean): Promise<Answer> {
  const { purpose } = routineNamed(call.words[0] ?? '')
  const args = { purpose, isOff, ...operatorOf(call) }
  const [switched] = await operating(call, transaction => transaction.run(switchFunction, args))
  const changed = switched !== undefined
  const state = isOff ? 'off' : 'on'
  const text = `${purpose} is ${changed ? `${state} now` : `${state} already: nothing has changed`}`
  return { json: { function: purpose, enabled: !isOff, changed }, text }
}

/** `{function, wasLatched, changed}`; `changed` is false where nothing counted against it. */
async function reset(call: Call): Promise<Answer> {
  const { purpose } = routineNamed(call.words[0] ?? '')
  const args = { purpose, ...operatorOf(call) }
  const [cleared] = await operating(call, transaction => transaction.run(resetBreaker, args))
  const json = { function: purpose, wasLatched: cleared?.wasLatched ?? false, changed: cleared !== undefined }
  return { json, text: `${purpose}: ${toldReset(cleared)}` }
}

function toldReset(cleared: ((typeof resetBreaker)['_row'] & {}) | undefined): string {
  if (cleared === undefined) return 'its breaker counts nothing: nothing has changed'
  if (cleared.wasLatched) return 'its breaker is cleared; the next batches have their whole size'
  return `its breaker had not latched; ${cleared.aborts} of the aborts that latch it are forgotten`
}
