import { InvalidInputError, WrongTargetError } from '../../../shared/core/errors.ts'
import { roleName } from '../../../shared/core/names.ts'
import type { Settings } from '../../../shared/core/read-settings.ts'
import type { ScriptConnection } from '../../../shared/db/driver-connection.ts'
import { sweeps } from '../../../shared/sweeps/index.ts'
import type { Answer } from '../answer.ts'
import { exitCodes } from '../exit-code.ts'
import { withDatabase } from '../open-database.ts'
import type { Call, Verb } from '../verb.ts'
import { countMax, readFunctions, readQueues, readWorkers } from './status-statements.ts'

const statementTimeoutMs = 10_000
/** A function that has not succeeded for so many of its cadences is late. */
const cadencesMax = 3

export const statusVerb: Verb = {
  name: 'status',
  summary: 'says how functions, queues and workers are, and why if not well',
  words: [],
  flags: { 'fail-on': { value: 'degraded', doc: 'exit 1 where something is degraded' } },
  run: async call => {
    const failOn = call.text('fail-on')
    if (failOn !== undefined && failOn !== 'degraded') {
      throw new InvalidInputError('USAGE', '--fail-on', `"${failOn}" is not degraded`)
    }
    const status = await readStatus(call)
    const exitCode = failOn !== undefined && status.degraded ? exitCodes.failed : exitCodes.done
    return { json: status, text: describe(status), exitCode } satisfies Answer
  },
}

/** What `taskq status --json` prints. Counts end at 10,000; ages are seconds by the database's clock. */
export interface Status {
  readonly schema: string
  readonly healthy: boolean
  readonly degraded: boolean
  /** One sentence for each thing that is not well. */
  readonly reasons: readonly string[]
  readonly functions: readonly FunctionStatus[]
  readonly queues: readonly { queue: string; paused: boolean; counts: Readonly<Record<string, number>> }[]
  readonly workers: readonly {
    id: string
    name: string
    hostname: string
    kind: string
    seenAgeSeconds: number
  }[]
}

export interface FunctionStatus {
  readonly function: string
  readonly outcome: string | null
  readonly lastStartedAt: Date | null
  readonly lastSuccessAt: Date | null
  readonly successAgeSeconds: number | null
  readonly rowsTotal: number
  readonly quarantined: number
  readonly degraded: boolean
  /** In words: how it is. */
  readonly state: string
}

async function readStatus({ settings }: Call): Promise<Status> {
  return withDatabase(settings, { queryTimeoutMs: statementTimeoutMs * 2 }, async connection => {
    await attest(connection, settings)
    const functions = (await connection.run(readFunctions, {})).map(functionStatus)
    const queues = await connection.run(readQueues, { max: countMax })
    const workers = await connection.run(readWorkers, { max: countMax })
    await connection.rollback()
    const reasons = functions.filter(each => each.degraded).map(each => `${each.function}: ${each.state}`)
    return {
      schema: settings.schemaName,
      healthy: reasons.length === 0,
      degraded: reasons.length > 0,
      reasons,
      functions,
      queues: queues.map(({ queue, paused, ...counts }) => ({ queue, paused, counts })),
      workers: workers.map(({ seen_age_seconds, ...worker }) => ({
        ...worker,
        seenAgeSeconds: seen_age_seconds,
      })),
    }
  })
}

/** All reads stand in one transaction with its timeouts, against the installation that the settings pin. */
async function attest(connection: ScriptConnection, settings: Settings): Promise<void> {
  const opened = await connection.openBatch({
    lock: null,
    statementTimeoutMs,
    lockTimeoutMs: settings.batchLockTimeoutMs,
    idleTimeoutMs: settings.idleInTransactionTimeoutMs,
    transactionTimeoutMs: statementTimeoutMs * 2,
    role: roleName(settings, 'reader'),
    target: { installationId: settings.installationId, environment: settings.environment },
  })
  if (opened !== 'locked') throw new WrongTargetError(settings.schemaName)
}

type FunctionRow = (typeof readFunctions)['_row'] & {}

function functionStatus(row: FunctionRow): FunctionStatus {
  const wrong = whatIsWrong(row)
  return {
    function: row.function,
    outcome: row.last_outcome,
    lastStartedAt: row.last_started_at,
    lastSuccessAt: row.last_success_at,
    successAgeSeconds: row.success_age_seconds,
    rowsTotal: row.rows_total,
    quarantined: row.quarantined,
    degraded: wrong !== undefined,
    state: wrong ?? (row.last_outcome === null ? 'no run has completed yet' : row.last_outcome),
  }
}

/** A function that never ran is no fault by itself: nobody may have deployed it yet. */
function whatIsWrong(row: FunctionRow): string | undefined {
  if (row.disabled) return 'is switched off'
  if (row.latched) return 'runs in its reduced tier since its breaker latched'
  if (row.last_outcome === 'aborted') return `its last run aborted: ${row.last_error ?? 'no error is stored'}`
  if (row.quarantined > 0) return `${row.quarantined} rows are in its quarantine`
  const cadence = sweeps.find(sweep => sweep.purpose === row.function)?.cadenceMinutes
  const age = row.success_age_seconds
  if (age === null || cadence === undefined || age <= cadence * 60 * cadencesMax) return undefined
  return `succeeded last ${ageText(age)} ago, although it is due every ${cadence} min`
}

function ageText(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

function describe(status: Status): string {
  const counted = (count: number) => (count >= countMax ? `${countMax}+` : String(count))
  const section = (name: string, lines: readonly string[]) =>
    lines.length === 0 ? [`${name}: none`] : [name, ...lines.map(line => `  ${line}`)]
  const functions = status.functions.map(each => {
    const isTold = each.degraded || each.successAgeSeconds === null
    const age = isTold ? '' : `, succeeded ${ageText(each.successAgeSeconds)} ago`
    return `${each.function}: ${each.state}${age}, ${each.rowsTotal} rows in all`
  })
  const queues = status.queues.map(({ queue, paused, counts }) => {
    const parts = Object.entries(counts).map(([name, count]) => `${counted(count)} ${name}`)
    return `${queue}: ${parts.join(', ')}${paused ? ' (paused)' : ''}`
  })
  const workers = status.workers.map(
    each => `${each.name} (${each.kind}), seen ${ageText(each.seenAgeSeconds)} ago`,
  )
  return [
    `schema ${status.schema}: ${status.healthy ? 'healthy' : `degraded: ${status.reasons.join('; ')}`}`,
    ...section('functions', functions),
    ...section('queues', queues),
    ...section('workers', workers),
  ].join('\n')
}
