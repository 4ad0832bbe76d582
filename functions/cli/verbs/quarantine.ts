import { InvalidInputError } from '../../../shared/core/errors.ts'
import { listSetAside, releaseRows } from '../../../shared/sweeper/operate.ts'
import type { Answer } from '../answer.ts'
import { some } from '../describe-result.ts'
import { exitCodes } from '../exit-code.ts'
import { operating } from '../operating.ts'
import { operatorOf, reasonFlag } from '../operator.ts'
import { routineNamed } from '../routine-argument.ts'
import type { Call, Verb } from '../verb.ts'

/** The rows that functions have set aside, because each failed by itself. */
export const quarantineVerbs: readonly Verb[] = [
  {
    name: 'quarantine list',
    summary: 'lists the rows that a function, or every one, has set aside, with their errors',
    words: ['[FUNCTION]'],
    flags: {},
    run: list,
  },
  {
    name: 'quarantine release',
    summary: 'lets one row that is set aside, or with --all every one, be due again at once',
    words: ['FUNCTION', '[ROW]'],
    flags: { all: { doc: 'every row of the function' }, reason: reasonFlag },
    run: release,
  },
]

/** `{schema, rows: [{function, rowKey, failures, until, lastError, firstSeenAt}]}` */
async function list(call: Call): Promise<Answer> {
  const [name] = call.words
  const purpose = name === undefined ? null : routineNamed(name).purpose
  const rows = await operating(call, transaction => transaction.run(listSetAside, { purpose }))
  const lines = rows.map(
    ({ function: by, rowKey, failures, until, lastError }) =>
      `${by} ${rowKey}: failed ${some(failures, 'time')}, again at ${until.toISOString()}: ${lastError}`,
  )
  const text = lines.length === 0 ? 'no row is set aside' : lines
  return { json: { schema: call.settings.schemaName, rows }, text }
}

/**
 * `{function, released: [rowKey]}`. A key that is not set aside, or any longer, fails, so that a script whose
 * key is mistyped hears of it; all rows of none are released already.
 */
async function release(call: Call): Promise<Answer> {
  const { purpose } = routineNamed(call.words[0] ?? '')
  const args = { purpose, rowKey: rowKeyOf(call), ...operatorOf(call) }
  const [row] = await operating(call, transaction => transaction.run(releaseRows, args))
  const released = row?.rowKeys ?? []
  const nothing = args.rowKey === null ? 'no row is set aside' : `${args.rowKey} is not set aside`
  const done = `${some(released.length, 'row')} released: the next run takes what is due`
  const text = `${purpose}: ${released.length === 0 ? `${nothing}: nothing has changed` : done}`
  const exitCode = released.length === 0 && args.rowKey !== null ? exitCodes.failed : exitCodes.done
  return { json: { function: purpose, released }, text, exitCode }
}

/** The one row that was named, as keys are stored: a uuid is pasted in capitals, too; null: all. */
function rowKeyOf(call: Call): string | null {
  const [, rowKey] = call.words
  if (rowKey !== undefined && call.has('all'))
    throw new InvalidInputError('USAGE', '--all', `is every row, and ${rowKey} is one: give one of the two`)
  if (rowKey !== undefined) return rowKey.toLowerCase()
  if (call.has('all')) return null
  throw new InvalidInputError('USAGE', 'ROW', 'is missing: name one row, or say --all')
}
