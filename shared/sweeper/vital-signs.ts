import type { DatabaseRole } from '../core/names.ts'
import type { Settings } from '../core/read-settings.ts'
import { type Gauge, type GaugeMetric, gaugeArgs, type Reading } from './gauge.ts'
import { gaugeReadFailed, gauges } from './gauges/index.ts'
import type { RunPorts } from './ports.ts'
import { Reader } from './reader.ts'
import type { Trigger } from './result.ts'
import type { Expected, Scheduled } from './scheduled.ts'
import type { Session } from './session.ts'

/** The function that watches all others: it reads gauges, and nothing else. */
export interface Watch extends Scheduled {
  readonly gauges: readonly Gauge[]
  /** What it publishes: its gauges, and how many of them it could not read. */
  readonly metrics: readonly GaugeMetric[]
}

export const vitalSigns: Watch = Object.freeze({
  purpose: 'vital_signs',
  title: 'Reads how the queue is',
  why: `A function that does not run reports nothing, and a backlog that nobody works on fails nothing: both
are seen only by who looks at the database. This function does, every minute. It takes no lock, moves nothing
and writes no row, not even of itself: its own death is the silence of \`SweepsStale\`, which it publishes in
every run. Each gauge is a statement of its own, read at that moment; one that fails is left out and counted,
and the others go on.`,
  cadenceMinutes: 1,
  gauges,
  metrics: [...gauges, gaugeReadFailed],
})

/** What one invocation of the watcher returns and prints. */
export interface VitalSigns {
  readonly function: string
  readonly schema: string
  readonly trigger: Trigger
  readonly outcome: 'drained'
  /** By the names of their metrics. One without a value is absent: unknown, or nothing to measure. */
  readonly gauges: Readonly<Record<string, number>>
  /** The gauges that could not be read. */
  readonly failed: readonly string[]
  /** What each gauge is about, the worst first, at most 50; absent where there is nothing. */
  readonly worst: Readonly<Record<string, Reading['worst']>>
  readonly durationMs: number
}

/** What a watch was asked for. */
export interface WatchRequest {
  readonly trigger: Trigger
  readonly settings: Settings
  /** The functions that keep a state, and what is expected of them. */
  readonly expected: readonly Expected[]
}

export type WatchPorts = Pick<RunPorts, 'connect' | 'nowMs' | 'remainingMs'> & {
  /** Is told why a gauge could not be read. */
  readonly unread?: (gauge: string, error: unknown) => void
}

/** The bound of each statement: all gauges together must end with their function's time. */
export const gaugeTimeoutMs = 2000
/** Left for the report and the close behind the last statement. */
const reserveMs = 3000
/** Whose rights a gauge is read with: those of the login that the scheduled functions have. */
const role: DatabaseRole = 'maintenance'

/**
 * Reads every gauge, whoever asks. Where none can be read it is no gauge's fault, and the error is thrown, as
 * a connection that cannot be had and the wrong target are.
 */
export async function watch(watched: Watch, request: WatchRequest, ports: WatchPorts): Promise<VitalSigns> {
  const startedMs = ports.nowMs()
  const { settings, trigger, expected } = request
  const session: Session = { connection: await ports.connect(), connect: ports.connect }
  try {
    const reader = new Reader(session, { settings, statementTimeoutMs: gaugeTimeoutMs })
    const { read, errors } = await readGauges(watched.gauges, reader, argsOf(expected), ports.remainingMs)
    if (read.size === 0 && errors.size > 0) throw [...errors.values()][0]
    for (const [name, error] of errors) ports.unread?.(name, error)
    const values = [...read].flatMap(([name, { value }]) => (value === null ? [] : [[name, value] as const]))
    const worst = [...read].flatMap(([name, reading]) =>
      reading.worst.length === 0 ? [] : [[name, reading.worst] as const],
    )
    return {
      function: watched.purpose,
      schema: settings.schemaName,
      trigger,
      outcome: 'drained',
      gauges: Object.fromEntries([...values, [gaugeReadFailed.name, errors.size]]),
      failed: [...errors.keys()],
      worst: Object.fromEntries(worst),
      durationMs: Math.round(ports.nowMs() - startedMs),
    }
  } finally {
    await session.connection.close()
  }
}

async function readGauges(
  asked: readonly Gauge[],
  reader: Reader,
  args: ReturnType<typeof gaugeArgs>,
  remainingMs: () => number,
) {
  const read = new Map<string, Reading>()
  const errors = new Map<string, unknown>()
  for (const { name, statement, asLogin } of asked) {
    if (remainingMs() < gaugeTimeoutMs + reserveMs) {
      errors.set(name, new Error('no time was left to read it'))
      continue
    }
    const answered = await reader.read(statement, args, asLogin ? null : role)
    const [reading] = 'rows' in answered ? answered.rows : []
    if (reading !== undefined) read.set(name, reading)
    else errors.set(name, 'error' in answered ? answered.error : new Error('it returned no row'))
  }
  return { read, errors }
}

function argsOf(expected: readonly Expected[]) {
  const on = expected.filter(({ isOff }) => !isOff)
  return gaugeArgs({
    functions: on.map(({ purpose }) => purpose),
    staleAfterSeconds: on.map(({ staleAfterSeconds }) => staleAfterSeconds),
  })
}
